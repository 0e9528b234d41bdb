"""The auto-groups of users, for the room below that shows and changes users."""

from collections.abc import Sequence

from events.audit.links import member_keys, set_members
from groups.membership import change_groups_of_peers
from groups.selectors import all_group_id
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.access.rules.setupkeys import auto_group_errors
from meshmgmt.access.selectors.known import known_groups
from meshmgmt.accounts.models import Account, User
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer


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


def errors_of_auto_groups(group_ids: Sequence[str]) -> list[FieldError]:
    """Return what is wrong with groups that shall be a user's auto-groups."""
    return list(
        auto_group_errors(
            group_ids, known_groups=known_groups(group_ids), all_group=all_group_id()
        )
    )


def set_auto_groups(user: User, group_ids: Sequence[str]) -> None:
    """Make `group_ids` the auto-groups of a user.

    With `groups_propagation_enabled` the peers of the user join the new ones and leave
    the old ones.
    """
    with account_write():
        before = member_keys(UserAutoGroup, user)
        after = list(dict.fromkeys(group_ids))
        set_members(UserAutoGroup, user, after)
        if before != after and _propagates():
            peers = Peer.objects.filter(user=user).order_by("pk")
            change_groups_of_peers(
                list(peers.values_list("pk", flat=True)),
                join=[pk for pk in after if pk not in set(before)],
                leave=[pk for pk in before if pk not in set(after)],
            )


def _propagates() -> bool:
    return Account.objects.filter(groups_propagation_enabled=True).exists()
