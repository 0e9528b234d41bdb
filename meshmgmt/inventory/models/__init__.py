"""Models of the inventory."""

from meshmgmt.inventory.models.networks import Network, NetworkResource, ResourceType
from meshmgmt.inventory.models.peers import Peer

__all__ = ["Network", "NetworkResource", "Peer", "ResourceType"]
