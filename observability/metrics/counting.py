"""Counting objects by state in one query, for inventory gauges."""

from typing import Any

from django.db.models import Count, Manager, Q

from observability.registries import InventoryRows


def by_state(objects: Manager[Any], **states: Q) -> InventoryRows:
    """Return how many objects are in each state, by the state's name."""
    # Prefixed, or a state would hide the model's field of the same name from the next.
    counts = objects.aggregate(
        **{f"in_{name}": Count("pk", filter=state) for name, state in states.items()}
    )
    return {(name,): counts[f"in_{name}"] for name in states}
