"""Inventory gauges of groups."""

from groups.models import Group, Issued
from observability.metrics.counting import by_value
from observability.registries import InventoryRows, register_inventory


def register() -> None:
    register_inventory(
        "mesh_groups", "Groups, by who made them.", ("issued",), groups_by_origin
    )


def groups_by_origin() -> InventoryRows:
    return by_value(Group.objects, "issued", *Issued.values)
