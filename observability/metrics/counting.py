"""Counting objects in one query, for inventory gauges."""

from typing import Any

from django.db.models import Count, Manager, Q

from meshmgmt.core.queries import numbers_by_state
from observability.registries import InventoryRows


def by_value(objects: Manager[Any], column: str, *values: str) -> InventoryRows:
    """Return how many objects have each of the values in a column."""
    rows = objects.order_by().values_list(column).annotate(Count("pk"))
    found = dict(rows)
    return {(value,): found.get(value, 0) for value in values}


def by_state(objects: Manager[Any], **states: Q) -> InventoryRows:
    """Return how many objects are in each state, by the state's name."""
    counts = numbers_by_state(objects, states)
    return {(name,): number for name, number in counts.items()}
