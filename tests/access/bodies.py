"""Valid bodies of this room's endpoints."""

from typing import Any

from tests.factories import group_id, numbered


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
        "sources": [group_id("people")],
        "destinations": [group_id("servers")],
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
        "peer": numbered(1).pk,
        "metric": 100,
        "masquerade": True,
        "groups": [group_id("people")],
        "keep_route": False,
        "access_control_groups": [],
        "skip_auto_apply": False,
    }
    return body | changes
