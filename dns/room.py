"""What DNS has for the other rooms."""

from dns import audit, gauges, references, setup
from dns.services.zones import domain_free_errors
from meshmgmt.accounts.contributions import contributions
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms


def register() -> None:
    audit.register()
    gauges.register()
    references.register()
    rooms.after_migration("dns", setup.make_settings)
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
