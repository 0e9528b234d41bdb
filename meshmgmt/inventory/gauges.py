"""Inventory gauges of peers; every label comes from a small fixed set."""

from meshmgmt.inventory.models import Network, NetworkResource, Peer
from meshmgmt.inventory.states import peer_states
from observability.metrics.counting import by_state
from observability.registries import InventoryRows, register_inventory


def register() -> None:
    register_inventory(
        "mesh_peers",
        "Peers, by state: each peer is in exactly one.",
        ("state",),
        peers_by_state,
    )
    register_inventory("mesh_networks", "Networks.", (), networks)
    register_inventory(
        "mesh_network_resources", "Resources of networks.", (), resources
    )


def peers_by_state() -> InventoryRows:
    """Count peers: waiting for approval, expired, connected, or else offline."""
    return by_state(Peer.objects, **peer_states())


def networks() -> InventoryRows:
    return {(): Network.objects.count()}


def resources() -> InventoryRows:
    return {(): NetworkResource.objects.count()}
