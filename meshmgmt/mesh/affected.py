"""Whose map may differ between two snapshots: at least all whose map does."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.policies import grants_ssh
from meshmgmt.mesh.sides import NOBODY
from meshmgmt.mesh.snapshot import NameserverGroup, Zone

MANY: Final = 0.3
"""From this share of changed peers on, everybody is told."""

Value = TypeVar("Value")


class _Link(NamedTuple):
    """Peers on two sides that get something about each other, and what decides it."""

    id: tuple[str, ...]
    facts: tuple[object, ...]
    left: frozenset[str]
    right: frozenset[str]


def affected(old: Mesh, new: Mesh) -> frozenset[str] | None:
    """Ids of the peers of `new` that may have another map now; None: all of them."""
    if (
        # Both are in every map.
        old.snapshot.settings != new.snapshot.settings
        or old.forwarder_port != new.forwarder_port
    ):
        return None
    peers = _changed_peers(old, new)
    if len(peers) > MANY * len(new.snapshot.peers):
        return None
    found = set(peers)
    before = {link.id: link for link in _links(old)}
    after = {link.id: link for link in _links(new)}
    # Who loses something is told as well as who gains something.
    for link in (*before.values(), *after.values()):
        if not peers.isdisjoint(link.left):
            found |= link.right
        if not peers.isdisjoint(link.right):
            found |= link.left
        # By identity: links of both states may be equal.
        other = (after if link is before.get(link.id) else before).get(link.id)
        if other is None or other.facts != link.facts:
            found |= link.left | link.right
    found |= _by_dns(old, new)
    # Logins are made of members of groups, so no link has them among its facts.
    if old.users.by_group != new.users.by_group:
        found |= _ssh_hosts(old) | _ssh_hosts(new)
    return frozenset(found & new.snapshot.peers.keys())


def _changed_peers(old: Mesh, new: Mesh) -> set[str]:
    """Peers that changed themselves, or that count or are in groups they were not in."""
    found = _changed(old.snapshot.peers, new.snapshot.peers)
    found |= old.membership.peers.keys() ^ new.membership.peers.keys()
    before, after = old.snapshot.members, new.snapshot.members
    for group in _changed(before, after):
        found |= before.get(group, NOBODY) ^ after.get(group, NOBODY)
    return found


def _links(mesh: Mesh) -> Iterator[_Link]:
    side = mesh.membership.side
    for entry in mesh.policies.rules:
        rule = entry.rule
        # Whether a peer passes the checks may itself be what changed.
        sources = side(rule.sources.groups, rule.sources.peer).ids
        facts = (entry.policy_id, rule, entry.checks)
        yield _Link((rule.id,), facts, sources, entry.destinations.ids)
        for resource, routers in mesh.networks.behind(entry).items():
            id_ = (rule.id, resource.id)
            yield _Link(id_, (*facts, resource, routers), sources, frozenset(routers))
        for route, routing in mesh.routes.links():
            if route.access_groups & rule.destinations.groups:
                id_ = (rule.id, route.id)
                yield _Link(id_, (*facts, route), sources, routing.ids)
    for route, routing in mesh.routes.all_links():
        # Who serves a route that is disabled is given no other way there, either, but
        # gets nothing about the others who do.
        users, ways = NOBODY, NOBODY
        if route.enabled:
            users, ways = side(route.groups).ids, routing.ids
        yield _Link((route.id,), (route,), users | routing.ids, ways)


def _by_dns(old: Mesh, new: Mesh) -> set[str]:
    """Peers of zones and nameserver groups that changed, and those not managed."""
    # Their members lose all of DNS, or get it back.
    groups = set(old.snapshot.unmanaged_groups ^ new.snapshot.unmanaged_groups)
    for name in ("zones", "nameserver_groups"):
        before, after = _named(name, old), _named(name, new)
        for id_ in _changed(before, after):
            groups.update(
                *(items[id_].groups for items in (before, after) if id_ in items)
            )
    members = (
        mesh.membership.members(group) for mesh in (old, new) for group in groups
    )
    return set().union(*members)


def _named(name: str, mesh: Mesh) -> dict[str, Zone | NameserverGroup]:
    return {item.id: item for item in getattr(mesh.snapshot, name)}


def _ssh_hosts(mesh: Mesh) -> set[str]:
    """Peers on which some rule lets people sign in."""
    peers = mesh.membership.peers
    return {
        peer_id
        for entry in mesh.policies.rules
        for peer_id in entry.destinations.ids
        if grants_ssh(peers[peer_id], entry)
    }


def _changed(before: Mapping[str, Value], after: Mapping[str, Value]) -> set[str]:
    """Keys whose value is not the same; what was not read anew compares fast."""
    return {
        key
        for key in before.keys() | after.keys()
        if key not in before or key not in after or before[key] != after[key]
    }
