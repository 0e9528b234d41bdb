"""Counting objects in one query, for inventory gauges."""

from typing import Any

from django.db.models import Count, Manager, Q

from observability.registries import InventoryRows


def by_value(objects: Manager[Any], column: str, *values: str) -> InventoryRows:
    """Return how many objects have each of the values in a column."""
    rows = objects.order_by().values_list(column).annotate(Count("pk"))
    found = dict(rows)
    return {(value,): found.get(value, 0) for value in values}


def by_state(objects: Manager[Any], **states: Q) -> InventoryRows:
    """Return how many objects are in each state, by the state's name."""
    # Prefixed, or a state would hide the model's field of the same name from the next.
    counts = objects.aggregate(
        **{f"in_{name}": Count("pk", filter=state) for name, state in states.items()}
    )
    return {(name,): counts[f"in_{name}"] for name in states}
