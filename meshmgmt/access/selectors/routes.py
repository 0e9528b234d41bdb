"""What the API shows of routes and routers."""

import ipaddress
from collections.abc import Sequence
from typing import Final

from meshmgmt.access.models import Route, Router
from meshmgmt.core.resources import Row, stored_rows

_OPTIONAL: Final = ("peer_groups", "access_control_groups")


def route_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return routes, in the order of creation.

    Clients tell absent from empty: without them there are no `peer_groups` and no
    `access_control_groups`, and `domains` of a route to a network is None.
    """
    found = stored_rows(Route, ids)
    for row in found:
        row["network_type"] = network_type(row["network"])
        row["domains"] = None if row["network"] else row["domains"]
        for name in _OPTIONAL:
            if not row[name]:
                del row[name]
    return found


def network_type(network: str) -> str:
    """Return how the API names what a route leads to."""
    if not network:
        return "Domain"
    return f"IPv{ipaddress.ip_network(network).version}"


def router_rows(network_id: str = "", ids: Sequence[str] | None = None) -> list[Row]:
    """Return the routers of a network ("": of all), in the order of creation.

    `peer_groups` of a router by peer is None.
    """
    found = stored_rows(Router, ids, within=network_id)
    for row in found:
        row["peer_groups"] = None if row["peer"] else row["peer_groups"]
    return found
