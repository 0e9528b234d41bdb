"""Every write of the inventory."""

from meshmgmt.inventory.services.peers import (
    KIND,
    free_ipv6,
    peer_create,
    peer_delete,
    peer_update,
)

__all__ = ["KIND", "free_ipv6", "peer_create", "peer_delete", "peer_update"]
