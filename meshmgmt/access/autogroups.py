"""The auto-groups of users, for the room below that shows and deletes users."""

from collections.abc import Sequence

from events.audit.links import set_members
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.accounts.models import User


def forget_auto_groups(user: User) -> None:
    """Empty the list of a user who is about to be deleted."""
    set_members(UserAutoGroup, user, [])


def auto_groups_of_users(user_ids: Sequence[str] | None) -> dict[str, list[str]]:
    """Return `{user id: [group id, ...]}` in order; None asks for all users."""
    links = UserAutoGroup.objects.order_by("user_id", "position", "id")
    if user_ids is not None:
        links = links.filter(user__in=user_ids)
    found: dict[str, list[str]] = {}
    for user_id, group_id in links.values_list("user_id", "group_id"):
        found.setdefault(user_id, []).append(group_id)
    return found
