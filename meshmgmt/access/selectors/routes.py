"""What the API shows of routes and routers."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from meshmgmt.access.models import (
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
)
from meshmgmt.access.rules.routes import ROUTE_COLUMNS, ROUTER_COLUMNS
from meshmgmt.core.orderedlinks import ids_by_owner

Row = dict[str, Any]

_ROUTE = ("id", *ROUTE_COLUMNS, "peer_id", "network", "domains")
_ROUTER = ("id", *ROUTER_COLUMNS, "peer_id")


def route_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return routes, in the order of creation.

    Clients tell absent from empty: without them there are no `peer_groups` and no
    `access_control_groups`, and `domains` of a route to a network is None.
    """
    routes = Route.objects.order_by("id")
    if ids is not None:
        routes = routes.filter(pk__in=ids)
    found = list(routes.values(*_ROUTE))
    if not found:
        return []
    groups = ids_by_owner(RouteGroup, ids)
    optional = {
        link.relation: ids_by_owner(link, ids)
        for link in (RoutePeerGroup, RouteAccessControlGroup)
    }
    for row in found:
        row["peer"] = row.pop("peer_id") or ""
        row["network_type"] = network_type(row["network"])
        row["domains"] = None if row["network"] else row["domains"]
        row["groups"] = groups.get(row["id"], [])
        for relation, by_route in optional.items():
            if row["id"] in by_route:
                row[relation] = by_route[row["id"]]
    return found


def network_type(network: str) -> str:
    """Return how the API names what a route leads to."""
    if not network:
        return "Domain"
    return f"IPv{ipaddress.ip_network(network).version}"


def router_rows(
    network_id: str | None = None, ids: Sequence[str] | None = None
) -> list[Row]:
    """Return the routers of a network (None: of all), in the order of creation.

    `peer_groups` of a router by peer is None.
    """
    routers = Router.objects.order_by("id")
    if network_id is not None:
        routers = routers.filter(network=network_id)
    if ids is not None:
        routers = routers.filter(pk__in=ids)
    found = list(routers.values(*_ROUTER))
    chosen = None if network_id is None else [row["id"] for row in found]
    groups = ids_by_owner(RouterPeerGroup, chosen) if found else {}
    for row in found:
        row["peer"] = row.pop("peer_id") or ""
        row["peer_groups"] = None if row["peer"] else groups.get(row["id"], [])
    return found
