"""What DNS has for the other rooms."""

from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Q

from dns import audit
from dns.content import RECORD_TYPES
from dns.models import (
    SINGLE_ROW,
    DisabledManagementGroup,
    DnsSettings,
    NameserverGroup,
    NameserverGroupGroup,
    Record,
    Zone,
    ZoneGroup,
)
from dns.services.zones import domain_free_errors
from groups import references
from groups.references import ListReference
from meshmgmt.accounts import contributions
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms
from meshmgmt.core.queries import tables_exist
from observability.metrics.counting import by_state, by_value
from observability.registries import register_inventory

_ENABLED: Final = {"enabled": Q(enabled=True), "disabled": Q(enabled=False)}


def register() -> None:
    audit.register()
    _register_gauges()
    _register_references()
    rooms.after_migration("dns", make_settings)
    modelmodules.assign("dns", "dns")
    modelmodules.assign(
        "nameservers", "dns.nameservergroup", "dns.nameservergroupgroup"
    )
    contributions.dns_domain_errors.add("dns", domain_free_errors)
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


def _register_gauges() -> None:
    register_inventory(
        "mesh_dns_zones",
        "Custom zones, by state.",
        ("state",),
        lambda: by_state(Zone.objects, **_ENABLED),
    )
    register_inventory(
        "mesh_dns_records",
        "Records of custom zones, by type.",
        ("type",),
        lambda: by_value(Record.objects, "type", *RECORD_TYPES),
    )
    register_inventory(
        "mesh_dns_nameserver_groups",
        "Nameserver groups, by state.",
        ("state",),
        lambda: by_state(NameserverGroup.objects, **_ENABLED),
    )


def _register_references() -> None:
    # Whatever loses its last group is disabled: nobody asked for it to be handed to
    # whoever is put into its list next.
    references.register(
        ListReference(NameserverGroupGroup, kind="nameserver_group", switch="enabled"),
        ListReference(ZoneGroup, kind="zone", switch="enabled"),
        ListReference(DisabledManagementGroup, kind="dns_settings"),
    )


def make_settings(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the one row of settings, so that the admin site has something to show."""
    # Sent after a migration back to nothing as well.
    if using == DEFAULT_DB_ALIAS and tables_exist(DnsSettings):
        DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
