"""Writes of the groups that the peers of a user join."""

from collections.abc import Sequence
from typing import Any

from groups.models import ALL, Group, Issued
from groups.selectors import all_group_id, known_groups
from groups.services import change_groups_of_peers, group_create
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.access.rules.setupkeys import auto_group_errors
from meshmgmt.accounts.models import Account, User
from meshmgmt.core.errors import FieldError
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer


def forget_auto_groups(user: User, **kwargs: Any) -> None:
    """Empty the list of a user who is about to be deleted."""
    set_members(UserAutoGroup, user, [])


def errors_of_auto_groups(group_ids: Sequence[str]) -> list[FieldError]:
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


def set_jwt_groups(user: User, names: Sequence[str]) -> None:
    """Make the groups with these names, and no others of claims, auto-groups of a user.

    Missing groups are made; auto-groups given by people stay.
    """
    with account_write():
        # Everybody is in `All`, whose name no other group may have.
        wanted = [_group(name).pk for name in names if name != ALL]
        before = member_keys(UserAutoGroup, user)
        of_claims = set(
            Group.objects.filter(pk__in=before, issued=Issued.JWT).values_list(
                "pk", flat=True
            )
        )
        kept = [pk for pk in before if pk not in of_claims or pk in wanted]
        set_auto_groups(user, [*kept, *(pk for pk in wanted if pk not in kept)])


def _group(name: str) -> Group:
    """The group that claims call so (seed, Group origins: jwt)."""
    # Their names may repeat: the oldest, so that all sign-ins mean the same one.
    found = Group.objects.filter(name=name, issued=Issued.JWT).order_by("pk").first()
    return found or group_create(name=name, issued=Issued.JWT)
