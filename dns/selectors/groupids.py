"""Which group ids exist, and the ordered lists of them that DNS objects hold."""

from collections.abc import Iterable, Sequence

from django.apps import apps

from events.audit.links import OrderedLink
from meshmgmt.core.ids import is_id

# SQLite bounds the number of parameters of a statement.
_BATCH = 500


def known_group_ids(group_ids: Iterable[str]) -> set[str]:
    """Return those of `group_ids` that exist."""
    groups = apps.get_model("groups", "Group")
    asked = [group_id for group_id in dict.fromkeys(group_ids) if is_id(group_id)]
    known: set[str] = set()
    for start in range(0, len(asked), _BATCH):
        part = asked[start : start + _BATCH]
        known.update(groups.objects.filter(pk__in=part).values_list("pk", flat=True))
    return known


def group_ids_by_owner(
    link: type[OrderedLink], owner_ids: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Return the group ids of each owner, in the order sent."""
    rows = link._default_manager.order_by("position", "id")
    if owner_ids is not None:
        rows = rows.filter(**{f"{link.owner_field}__in": owner_ids})
    found: dict[str, list[str]] = {}
    for owner_id, group_id in rows.values_list(f"{link.owner_field}_id", "group_id"):
        found.setdefault(owner_id, []).append(group_id)
    return found
