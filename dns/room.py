"""What DNS has for the other rooms."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS

from dns import audit, gauges, references
from dns.models import DnsSettings
from dns.models.settings import SINGLE_ROW
from dns.services.zones import domain_free_errors
from meshmgmt.accounts.contributions import contributions
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms
from meshmgmt.core.queries import tables_exist


def register() -> None:
    audit.register()
    gauges.register()
    references.register()
    rooms.after_migration("dns", make_settings)
    modelmodules.assign("dns", "dns")
    modelmodules.assign(
        "nameservers", "dns.nameservergroup", "dns.nameservergroupgroup"
    )
    contributions.dns_domain_errors = domain_free_errors
    register_constraint(
        "another nameserver group has this name",
        "dns_nameservergroup_name",
        "dns_nameservergroup.name",
    )
    register_constraint(
        "another zone has this domain", "dns_zone_domain", "dns_zone.canonical_domain"
    )
    register_constraint(
        "this record already exists",
        "dns_record_identical",
        "dns_record.canonical_content",
    )
    register_constraint(
        "a CNAME must be alone at its name",
        "dns_record_one_cname",
        "dns_record_cname_alone",
        "dns_record.canonical_name",
    )


def make_settings(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the one row of settings, so that the admin site has something to show."""
    # Sent after a migration back to nothing as well.
    if using == DEFAULT_DB_ALIAS and tables_exist(DnsSettings):
        DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
