"""What the inventory has for the other rooms, and what it does when theirs change."""

from meshmgmt.accounts.signals import ranges_changed, user_blocked, user_deleting
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.inventory import audit, eventfacts, gauges, homecards, selectors
from meshmgmt.inventory.rules import UNIQUE
from meshmgmt.inventory.services import expiry
from meshmgmt.inventory.services.peers import peers_of_user_delete, peers_of_user_expire
from meshmgmt.inventory.services.renumbering import peers_renumber
from observability.registries import register_host_names


def register() -> None:
    audit.register()
    gauges.register()
    homecards.register()
    eventfacts.register()
    user_deleting.connect(peers_of_user_delete, dispatch_uid="inventory.user_deleting")
    user_blocked.connect(peers_of_user_expire, dispatch_uid="inventory.user_blocked")
    ranges_changed.connect(peers_renumber, dispatch_uid="inventory.ranges_changed")
    register_host_names("peers", selectors.host_names)
    register_job("expire_logins", expiry.EVERY_SECONDS, expiry.expire_logins)
    modelmodules.assign("peers", "inventory.peer")
    modelmodules.assign("networks", "inventory")
    for column, what in UNIQUE.items():
        register_constraint(
            f"another peer has this {what}",
            f"inventory_peer_{column}_key",
            f"UNIQUE constraint failed: inventory_peer.{column}",
        )
    register_constraint(
        "another resource has this name",
        "resource_name_unique",
        "inventory_networkresource.name",
    )
