"""Models of the inventory."""

from meshmgmt.inventory.models.networks import Network, NetworkResource, ResourceType
from meshmgmt.inventory.models.peers import LOCAL_FLAGS, Peer

__all__ = ["LOCAL_FLAGS", "Network", "NetworkResource", "Peer", "ResourceType"]
