"""Facts about users that rooms above know; they register in their `ready()`."""

from collections.abc import Callable, Mapping, Sequence

AutoGroups = Callable[[Sequence[str] | None], Mapping[str, Sequence[str]]]


class _Sources:
    auto_groups: AutoGroups | None = None


def register_auto_groups(source: AutoGroups) -> None:
    """Set the function that returns `{user id: [group id, ...]}`, in the users' order.

    It is asked for the given users, None for all; users without groups may be absent.
    """
    _Sources.auto_groups = source


def auto_groups(user_ids: Sequence[str] | None = None) -> Mapping[str, Sequence[str]]:
    """Return the auto-groups of users (None: of all), nothing when nobody knows them."""
    return {} if _Sources.auto_groups is None else _Sources.auto_groups(user_ids)
