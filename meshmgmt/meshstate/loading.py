"""Puts a snapshot together: all of it, what was touched since, or what one peer needs.

Peers, members of groups, records and rules are many and read as far as they are wanted;
everything else is read anew each time.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from meshmgmt.core.collector import nothing_to_collect
from meshmgmt.core.errors import NotFound
from meshmgmt.core.history import shown_moment
from meshmgmt.core.queries import BATCH
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.extent import Extent, extent, routing
from meshmgmt.mesh.snapshot import Peer, Policy, Record, Settings, Snapshot, User, Zone
from meshmgmt.meshstate import tables
from meshmgmt.meshstate.reader import Table, grouped

Value = TypeVar("Value")
_Members = Mapping[str, frozenset[str]]
_Records = Mapping[str, tuple[Record, ...]]


@dataclass(frozen=True, slots=True)
class Touched:
    """Ids of what a change touched; `small` tables are no concern of it."""

    peers: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()

    def __or__(self, other: "Touched") -> "Touched":
        return Touched(
            self.peers | other.peers,
            self.groups | other.groups,
            self.zones | other.zones,
        )


def mesh_of(read: Callable[[], Snapshot]) -> Mesh:
    """The mesh of what is read, as of the moment that is shown."""
    with nothing_to_collect():
        return Mesh(read(), shown_moment().timestamp())


def load(previous: Snapshot | None = None, touched: Touched | None = None) -> Snapshot:
    """Read the account; with `previous` only what was touched since of the big tables.

    As many queries whatever the size; to be called in one `read_snapshot()`.
    """
    if previous is None or touched is None:
        peers: Mapping[str, Peer] = dict(tables.PEERS.read())
        members: _Members = grouped(tables.MEMBERS.plain(), frozenset)
        records: _Records = grouped(tables.RECORDS.read(), tuple)
    else:
        found = dict(tables.PEERS_OF.read(sorted(touched.peers)))
        peers = _renewed(previous.peers, touched.peers, found)
        of_groups = tables.MEMBERS_OF.plain(sorted(touched.groups))
        renewed = grouped(of_groups, frozenset)
        members = _renewed(previous.members, touched.groups, renewed)
        # Put together again, for they are told apart anew below.
        before = {zone.id: (*zone.records, *zone.unusable) for zone in previous.zones}
        read = grouped(tables.RECORDS_OF.read(sorted(touched.zones)), tuple)
        records = _renewed(before, touched.zones, read)
    account = _account()
    return replace(
        account,
        peers=peers,
        members=members,
        policies=_policies(),
        zones=_with_records(account.zones, records),
    )


def load_around(
    peer_id: str,
    *,
    groups: Collection[str] = (),
    others: Collection[str] = (),
    zones: Collection[str] = (),
    known: Snapshot | None = None,
) -> Snapshot:
    """Read what decides about one peer: of the big tables what it may meet and gets.

    With `groups` also what it would meet and get as a member of them, with `others` those
    peers, with `zones` their records. Small tables are taken from what is `known` by an
    earlier read of the same moment. Raises NotFound for an unknown peer.
    """
    of_peers = tables.GROUPS_OF.plain([peer_id, *others])
    account = known or _account()
    mine = frozenset(group for group, member in of_peers if member == peer_id)
    # No rows say who is in the group of all.
    mine |= {account.everybody, *groups}
    # Who routes lets sources of others' rules in, so rules about itself are not enough.
    everything = routes_something([peer_id], mine)
    about = () if everything else ([peer_id], sorted(mine))
    account = replace(account, policies=_policies(*about))
    near = extent(account, peer_id, mine)
    of_groups = tables.MEMBERS_OF.plain(sorted(near.groups))
    got = [
        zone.id
        for zone in account.zones
        if zone.id in zones or (zone.enabled and not mine.isdisjoint(zone.groups))
    ]
    records = grouped(tables.RECORDS_OF.read(got), tuple)
    return replace(
        account,
        peers=_peers(account, near, [peer_id, *others]),
        members=grouped([*of_groups, *of_peers], frozenset),
        zones=_with_records(account.zones, records),
    )


def load_among(
    peer_ids: Collection[str], *, groups: Collection[str] = (), routers: bool = False
) -> Snapshot:
    """Read what decides between a few peers and the members of groups.

    With `routers` all that route are read, too. Of other peers, of groups' other members
    and of records nothing is read. Raises NotFound for an unknown peer.
    """
    account = replace(_account(), policies=_policies())
    near = routing(account) if routers else Extent(frozenset(), frozenset())
    near = Extent(near.groups | set(groups), near.peers)
    return _with_peers(account, near, peer_ids)


def load_met(
    peer_ids: Collection[str], *, by: Collection[str], others: Extent
) -> Snapshot:
    """Read which of `others`, and of those met as a member of `by`, peers may send to.

    Only what goes straight from peer to peer is decided by what is read; unknown peers
    are passed over.
    """
    about = sorted({*groups_of(peer_ids), *by})
    account = replace(
        _deciding(tables.BLOCKED), policies=_policies(sorted(peer_ids), about)
    )
    met = extent(account, "", frozenset(by))
    known = others.peers.union(met.peers, peer_ids)
    return _with_peers(account, Extent(others.groups | met.groups, known), ())


def load_sides(sides: Extent) -> Snapshot:
    """Read what decides straight between the peers of groups, and some more."""
    # Of users only those who are blocked keep peers out.
    account = replace(_deciding(tables.BLOCKED), policies=_policies())
    return _with_peers(account, sides, ())


def groups_of(peer_ids: Collection[str]) -> set[str]:
    """Return the groups that any of these peers is in, that of all peers included."""
    if not peer_ids:
        return set()
    found = {group for group, _ in tables.GROUPS_OF.plain(sorted(peer_ids))}
    return found | {pk for (pk,) in tables.EVERYBODY.plain()}


def routes_something(peer_ids: Collection[str], groups: Collection[str]) -> bool:
    """Tell whether a route or router names one of these peers or groups as routing."""
    return bool(tables.ROUTED_BY.plain(sorted(peer_ids), sorted(groups)))


def are_named(groups: Collection[str]) -> bool:
    """Tell whether a rule, route or router names one of these groups."""
    return bool(tables.NAMING.plain(sorted(groups)))


def _peers(
    account: Snapshot, near: Extent, wanted: Collection[str]
) -> Mapping[str, Peer]:
    """The peers of an extent, and those wanted. Raises NotFound for one unknown."""
    single = sorted({*wanted, *near.peers})
    found = dict(
        tables.PEERS.read()
        if account.everybody in near.groups
        else tables.PEERS_IN.read(sorted(near.groups), single)
    )
    for peer_id in wanted:
        if peer_id not in found:
            raise NotFound.of("peer", peer_id)
    return found


def _with_peers(account: Snapshot, near: Extent, wanted: Collection[str]) -> Snapshot:
    """The account with the peers of an extent, and their groups."""
    peers = _peers(account, near, wanted)
    # Of so many, all links are read faster than those of each id.
    many = len(peers) > BATCH
    pairs = tables.MEMBERS.plain() if many else tables.GROUPS_OF.plain(sorted(peers))
    return replace(account, peers=peers, members=grouped(pairs, frozenset))


def _policies(*about: Sequence[str]) -> tuple[Policy, ...]:
    """All policies, with all rules or those about peers and groups."""
    table = tables.RULES_OF if about else tables.RULES
    rules = grouped(table.read(*about), tuple)
    return _in_order(tables.POLICIES.read(rules=rules))


def _account() -> Snapshot:
    """All but peers, members of groups, policies and records."""
    return replace(
        _deciding(tables.USERS),
        routes=_in_order(tables.ROUTES.read()),
        routers=_in_order(tables.ROUTERS.read()),
        resources=_in_order(tables.RESOURCES.read()),
        zones=_in_order(tables.ZONES.read()),
        nameserver_groups=_in_order(tables.NAMESERVER_GROUPS.read()),
        unmanaged_groups=frozenset(id_ for (id_,) in tables.UNMANAGED.plain()),
        group_names=dict(tables.GROUPS.plain()),
    )


def _deciding(users: Table[User]) -> Snapshot:
    """Of the account what decides who takes part, and on which side of a rule."""
    return Snapshot(
        settings=next(iter(_in_order(tables.SETTINGS.read())), Settings()),
        peers={},
        members={},
        everybody="".join(id_ for (id_,) in tables.EVERYBODY.plain()),
        users=dict(users.read()),
        checks=dict(tables.CHECKS.read()),
    )


def _in_order(pairs: Iterable[tuple[str, Value]]) -> tuple[Value, ...]:
    return tuple([value for _, value in pairs])


def _with_records(zones: Iterable[Zone], records: _Records) -> tuple[Zone, ...]:
    return tuple(
        tables.with_records(zone, records[zone.id]) if zone.id in records else zone
        for zone in zones
    )


def _renewed(
    before: Mapping[str, Value], touched: Iterable[str], found: Mapping[str, Value]
) -> dict[str, Value]:
    after = dict(before)
    for id_ in touched:
        after.pop(id_, None)
    after.update(found)
    return after
