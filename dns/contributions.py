"""What the other rooms learn from DNS when the service starts."""

from dns.services.zones import domain_free_errors
from meshmgmt.accounts.contributions import contributions
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules


def contribute() -> None:
    _register_constraints()
    modelmodules.assign("dns", "dns")
    modelmodules.assign(
        "nameservers", "dns.nameservergroup", "dns.nameservergroupgroup"
    )
    contributions.dns_domain_errors = domain_free_errors


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
