"""Valid bodies of this room's endpoints, and the objects they refer to."""

from typing import Any

from groups.models import Group, GroupPeer
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.inventory.models import Network, NetworkResource, Peer


def group(name: str) -> str:
    """Return the id of the group with this name, made when it is missing."""
    found = Group.objects.filter(name=name).first()
    return (found or Group.objects.create(name=name)).pk


def peer(number: int, **facts: Any) -> Peer:
    """Return the peer with this number, made when it is missing."""
    key = f"{number:043d}="
    found = Peer.objects.filter(wg_public_key=key).first()
    return found or Peer.objects.create(
        name=f"peer {number}",
        wg_public_key=key,
        ip=f"100.64.{number // 256}.{number % 256}",
        dns_label=f"peer-{number}",
        **facts,
    )


def with_members(name: str, *numbers: int) -> str:
    """Return the id of a group that holds the peers with these numbers."""
    group_id = group(name)
    chosen = [peer(number).pk for number in numbers]
    set_members(GroupPeer, Group.objects.get(pk=group_id), chosen)
    return group_id


def network(name: str = "office") -> Network:
    """Return the network with this name, made when it is missing."""
    found = Network.objects.filter(name=name).first()
    return found or Network.objects.create(name=name)


def resource(name: str = "printer", kind: str = "host") -> NetworkResource:
    """Return the resource with this name, made when it is missing."""
    found = NetworkResource.objects.filter(name=name).first()
    return found or NetworkResource.objects.create(
        network=network(), name=name, type=kind, address="10.0.0.1/32"
    )


def rule(**changes: Any) -> dict[str, Any]:
    """Return the body of a rule between two groups."""
    body = {
        "name": "to servers",
        "description": "",
        "enabled": True,
        "action": "accept",
        "bidirectional": False,
        "protocol": "tcp",
        "ports": ["22", "443"],
        "sources": [group("people")],
        "destinations": [group("servers")],
    }
    return body | changes


def policy(**changes: Any) -> dict[str, Any]:
    """Return the body of a policy with one rule."""
    body = {
        "name": "work",
        "description": "what people need",
        "enabled": True,
        "source_posture_checks": [],
        "rules": [rule()],
    }
    return body | changes


def route(**changes: Any) -> dict[str, Any]:
    """Return the body of a route to a network through a peer."""
    body = {
        "network_id": "office",
        "description": "the office",
        "enabled": True,
        "network": "10.1.0.0/16",
        "peer": peer(1).pk,
        "metric": 100,
        "masquerade": True,
        "groups": [group("people")],
        "keep_route": False,
        "access_control_groups": [],
        "skip_auto_apply": False,
    }
    return body | changes
