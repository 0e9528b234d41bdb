"""Inventory gauges of zones, records and nameserver groups."""

from typing import Final

from django.db.models import Q

from dns.content import RECORD_TYPES
from dns.models import NameserverGroup, Record, Zone
from observability.metrics.counting import by_state, by_value
from observability.registries import register_inventory

_ENABLED: Final = {"enabled": Q(enabled=True), "disabled": Q(enabled=False)}


def register() -> None:
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
