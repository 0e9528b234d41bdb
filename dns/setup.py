"""What the other rooms learn from DNS when the service starts."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from dns.models import DnsSettings
from dns.models.settings import SINGLE_ROW
from dns.services.peerdomain import domain_free_errors
from meshmgmt.accounts.registries import register_dns_domain_check
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules


def register() -> None:
    """Register constraints, modules of permissions and the check of the DNS domain."""
    _register_constraints()
    modelmodules.assign("dns", "dns")
    modelmodules.assign(
        "nameservers", "dns.nameservergroup", "dns.nameservergroupgroup"
    )
    register_dns_domain_check(domain_free_errors)


def make_settings(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the one row of settings, so that the admin site has something to show."""
    tables = connections[using].introspection.table_names()
    if using == DEFAULT_DB_ALIAS and DnsSettings._meta.db_table in tables:
        DnsSettings.objects.get_or_create(pk=SINGLE_ROW)


def _register_constraints() -> None:
    """Sentences for the second guards; SQLite names columns, not constraints."""
    name = "another nameserver group has this name"
    domain = "another zone has this domain"
    identical = "this record already exists"
    cname = "a CNAME must be alone at its name"
    for text, message in (
        ("dns_nameservergroup_name", name),
        ("dns_nameservergroup.name", name),
        ("dns_zone_domain", domain),
        ("dns_zone.canonical_domain", domain),
        ("dns_record_identical", identical),
        ("dns_record.canonical_content", identical),
        ("dns_record_one_cname", cname),
        ("dns_record_cname_alone", cname),
        ("dns_record.canonical_name", cname),
    ):
        register_constraint(text, message)
