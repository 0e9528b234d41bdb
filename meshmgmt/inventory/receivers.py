"""What the inventory does when users and ranges change, in the same write."""

from typing import Any

from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.signals import ranges_changed, user_blocked, user_deleting
from meshmgmt.inventory.services.peers import peers_of_user_delete, peers_of_user_expire
from meshmgmt.inventory.services.renumbering import peers_renumber


def register() -> None:
    user_deleting.connect(_user_deleting, dispatch_uid="inventory.user_deleting")
    user_blocked.connect(_user_blocked, dispatch_uid="inventory.user_blocked")
    ranges_changed.connect(_ranges_changed, dispatch_uid="inventory.ranges_changed")


def _user_deleting(user: User, **kwargs: Any) -> None:
    peers_of_user_delete(user)


def _user_blocked(user: User, **kwargs: Any) -> None:
    peers_of_user_expire(user)


def _ranges_changed(account: Account, **kwargs: Any) -> None:
    peers_renumber(account)
