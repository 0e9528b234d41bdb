"""What the inventory does when users and ranges change, in the same write."""

from meshmgmt.accounts.signals import ranges_changed, user_blocked, user_deleting
from meshmgmt.inventory.services.peers import peers_of_user_delete, peers_of_user_expire
from meshmgmt.inventory.services.renumbering import peers_renumber


def register() -> None:
    user_deleting.connect(peers_of_user_delete, dispatch_uid="inventory.user_deleting")
    user_blocked.connect(peers_of_user_expire, dispatch_uid="inventory.user_blocked")
    ranges_changed.connect(peers_renumber, dispatch_uid="inventory.ranges_changed")
