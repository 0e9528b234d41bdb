"""Inventory gauges of groups."""

from django.db.models import Count

from groups.models import Group
from observability.registries import InventoryRows, register_inventory

ORIGINS = ("api", "integration", "jwt")


def register() -> None:
    register_inventory(
        "mesh_groups", "Groups, by who made them.", ("issued",), groups_by_origin
    )


def groups_by_origin() -> InventoryRows:
    """Count groups by origin; origins without groups are 0."""
    rows = Group.objects.order_by().values_list("issued").annotate(Count("pk"))
    found = dict(rows)
    return {(origin,): found.get(origin, 0) for origin in ORIGINS}
