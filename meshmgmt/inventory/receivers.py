"""What the inventory does when users and ranges change, in the same write."""

from typing import Any

from django.dispatch import receiver

from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.signals import ranges_changed, user_blocked, user_deleting
from meshmgmt.inventory.services.peers import peers_of_user_delete, peers_of_user_expire
from meshmgmt.inventory.services.renumbering import peers_renumber


@receiver(user_deleting, dispatch_uid="inventory.user_deleting")
def _user_deleting(user: User, **kwargs: Any) -> None:
    peers_of_user_delete(user)


@receiver(user_blocked, dispatch_uid="inventory.user_blocked")
def _user_blocked(user: User, **kwargs: Any) -> None:
    peers_of_user_expire(user)


@receiver(ranges_changed, dispatch_uid="inventory.ranges_changed")
def _ranges_changed(account: Account, **kwargs: Any) -> None:
    peers_renumber(account)
