"""The ordered lists of ids that objects hold, read for many objects at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from events.audit.links import OrderedLink

IdsByOwner = Mapping[str, list[str]]


def ids_by_owner(
    link: type[OrderedLink], owner_ids: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Return the listed ids of each owner, in the order sent; None: of all owners."""
    found: dict[str, list[str]] = {}
    for owner_id, identifier in link_rows(link, owner_ids, link.member_fields[0]):
        found.setdefault(owner_id, []).append(identifier)
    return found


def link_rows(
    link: type[OrderedLink], owner_ids: Sequence[str] | None, *columns: str
) -> Any:
    """Return `(owner id, *columns)` of the entries of lists, each list in its order."""
    rows = link._default_manager.order_by("position", "id")
    if owner_ids is not None:
        rows = rows.filter(**{f"{link.owner_field}__in": owner_ids})
    return rows.values_list(f"{link.owner_field}_id", *columns)
