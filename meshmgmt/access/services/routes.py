"""Writes of routes. Every function runs in one account write."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from events.audit.links import member_keys, set_members
from groups.membership import group_members
from meshmgmt.access.models import (
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
)
from meshmgmt.access.rules.routes import (
    Forwarder,
    RouteDraft,
    RoutingFacts,
    destination_key,
    network_text,
    repeated_route_errors,
    route_errors,
)
from meshmgmt.access.selectors.known import known_groups, known_ids
from meshmgmt.access.selectors.links import ids_by_owner
from meshmgmt.access.services.finding import found
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer

KIND: Final = "route"

_COLUMNS: Final = (
    "network_id",
    "description",
    "enabled",
    "metric",
    "masquerade",
    "keep_route",
    "skip_auto_apply",
)
_PAIRS: Final = (("network", "domains"), ("peer", "peer_groups"))


def route_create(*, draft: RouteDraft) -> Route:
    """Create a route. Raises InvalidArgument, Conflict for a repeated route."""
    with account_write():
        route = Route()
        _write(route, draft, new=True)
        return route


def route_update(*, route_id: str, changes: Mapping[str, Any]) -> Route:
    """Change the fields of the draft that are given, keep the rest.

    Giving one of network and domains, or of peer and peer_groups, takes the place of
    the other. Raises NotFound, InvalidArgument, Conflict.
    """
    with account_write():
        route = found(Route, route_id, kind=KIND)
        _write(route, replace(_stored_draft(route), **displaced(changes)), new=False)
        return route


def route_delete(*, route_id: str) -> None:
    """Delete a route. Raises NotFound."""
    with account_write():
        found(Route, route_id, kind=KIND).delete()


def displaced(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Empty the other part of a pair of which one part alone is given."""
    completed = dict(changes)
    empty = RouteDraft(network_id="", groups=())
    for one, other in (*_PAIRS, *(pair[::-1] for pair in _PAIRS)):
        if changes.get(one) and other not in changes:
            completed[other] = getattr(empty, other)
    return completed


def _stored_draft(route: Route) -> RouteDraft:
    return RouteDraft(
        network=route.network,
        domains=route.domains,
        peer=route.peer_id or "",
        groups=member_keys(RouteGroup, route),
        peer_groups=member_keys(RoutePeerGroup, route),
        access_control_groups=member_keys(RouteAccessControlGroup, route),
        **{name: getattr(route, name) for name in _COLUMNS},
    )


def _write(route: Route, draft: RouteDraft, *, new: bool) -> None:
    facts = RoutingFacts(
        groups=known_groups(draft.group_ids), peers=known_ids(Peer, [draft.peer])
    )
    raise_field_errors(route_errors(draft, facts))
    network = network_text(draft.network) if draft.network else ""
    raise_field_errors(_repetitions(route, draft, network))
    for name in _COLUMNS:
        setattr(route, name, getattr(draft, name))
    route.network = network
    route.domains = list(draft.domains)
    route.peer_id = draft.peer or None
    route.save(force_insert=new)
    set_members(RouteGroup, route, draft.groups, new=new)
    set_members(RoutePeerGroup, route, draft.peer_groups, new=new)
    set_members(RouteAccessControlGroup, route, draft.access_control_groups, new=new)


def _repetitions(route: Route, draft: RouteDraft, network: str) -> Any:
    """Return the clash with another route to the same place through the same peer."""
    place = destination_key(network, draft.domains)
    rows = Route.objects.filter(network=network).exclude(pk=route.pk)
    others = [
        (pk, peer or "")
        for pk, peer, domains in rows.values_list("id", "peer_id", "domains")
        if destination_key(network, domains) == place
    ]
    if not others:
        return []
    groups = ids_by_owner(RoutePeerGroup, [pk for pk, _ in others])
    asked = {*draft.peer_groups, *(g for listed in groups.values() for g in listed)}
    members = group_members(asked)
    mine = _forwarder(draft.peer, draft.peer_groups, members)
    return repeated_route_errors(
        mine, [_forwarder(peer, groups.get(pk, ()), members) for pk, peer in others]
    )


def _forwarder(
    peer: str, groups: Iterable[str], members: Mapping[str, set[str]]
) -> Forwarder:
    chosen = frozenset(groups)
    peers = frozenset(pk for group in chosen for pk in members.get(group, ()))
    return Forwarder(peer=peer, groups=chosen, members=peers)
