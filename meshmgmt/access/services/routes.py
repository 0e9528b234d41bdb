"""Writes of routes. Every function runs in one account write."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groups.selectors import known_groups
from meshmgmt.access.models import (
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
)
from meshmgmt.access.rules.routes import (
    ROUTE_COLUMNS,
    RouteDraft,
    RoutingFacts,
    destination_key,
    network_text,
    route_errors,
)
from meshmgmt.core import drafts
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.orderedlinks import ids_by_owner, member_keys, set_members
from meshmgmt.core.queries import found, known_ids
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer

KIND: Final = "route"

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
        stored = _stored_draft(route)
        emptied = [] if stored.peer or stored.peer_groups else ["peer"]
        emptied += [] if stored.groups else ["groups"]
        draft = replace(stored, **displaced(changes))
        _write(route, draft, new=False, emptied=emptied)
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
        **drafts.values(route, ROUTE_COLUMNS),
    )


def _write(
    route: Route, draft: RouteDraft, *, new: bool, emptied: Sequence[str] = ()
) -> None:
    facts = RoutingFacts(
        groups=known_groups(draft.group_ids),
        peers=known_ids(Peer, [draft.peer]),
        emptied=emptied,
    )
    raise_field_errors(route_errors(draft, facts))
    network = network_text(draft.network) if draft.network else ""
    raise_field_errors(_repetitions(route, draft, network))
    drafts.fill(route, draft, ROUTE_COLUMNS)
    route.network = network
    route.domains = list(draft.domains)
    route.peer_id = draft.peer or None
    route.save(force_insert=new)
    set_members(RouteGroup, route, draft.groups, new=new)
    set_members(RoutePeerGroup, route, draft.peer_groups, new=new)
    set_members(RouteAccessControlGroup, route, draft.access_control_groups, new=new)


def _repetitions(route: Route, draft: RouteDraft, network: str) -> list[FieldError]:
    """Return the clash with another route that is the same in all that matters."""
    if not draft.peer and not draft.peer_groups:
        return []  # emptied by deletions: leads nowhere
    rows = Route.objects.filter(
        network_id=draft.network_id, network=network, peer_id=draft.peer or None
    ).exclude(pk=route.pk)
    place = destination_key(network, draft.domains)
    groups = ids_by_owner(RoutePeerGroup, [row.pk for row in rows])
    same = [
        row
        for row in rows
        if destination_key(network, row.domains) == place
        and set(groups.get(row.pk, ())) == set(draft.peer_groups)
    ]
    if not same:
        return []
    field = "peer" if draft.peer else "peer_groups"
    text = f"a route {draft.network_id!r} leads there through the same {field} already"
    return [FieldError(field, text, conflict=True)]
