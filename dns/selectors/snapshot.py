"""Reads snapshots: of what one peer needs, or of the whole account.

As many queries whatever the size; rows are read plainly, for there are thousands.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dns import models
from dns.content import is_digest
from dns.effective.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Record,
    Snapshot,
    Zone,
)
from dns.selectors import snapshotrows as queries
from groups.models import ALL, Issued
from meshmgmt.access.reach import ReachGraph, Target
from meshmgmt.access.selectors.reachfacts import reach_facts
from meshmgmt.core.errors import NotFound
from meshmgmt.core.names import canonical
from meshmgmt.core.queries import Rows

PEER_KIND: Final = "peer"


def peer_snapshot(peer_id: str) -> tuple[Snapshot, ReachGraph]:
    """Return what decides the configuration of one peer, and who reaches whom.

    Records are those of the zones that the peer gets, peers are those that it may see.
    Raises NotFound.
    """
    rows = queries.PEERS.read([peer_id])
    if not rows:
        raise NotFound.of(PEER_KIND, peer_id)
    groups = _Groups.read()
    mine = groups.everybody.union(row[0] for row in queries.MINE.read([peer_id]))
    peer = _peer(rows[0], mine)
    reach = reach_facts(peer_id, mine)
    graph = ReachGraph(reach)
    managed = peer.approved and mine.isdisjoint(groups.disabled)
    peers, members = _seen_peers(
        graph.targets(peer_id, mine) if managed else [], groups.everybody
    )
    peers[peer_id] = peer
    snapshot = Snapshot(
        dns_domain=_dns_domain(),
        peers=peers,
        members=members,
        zones=_zones(groups, mine if managed else frozenset()),
        nameserver_groups=_nameserver_groups(groups),
        disabled_groups=groups.disabled,
        group_names=groups.names,
        reach=reach,
    )
    return snapshot, graph


def with_records(snapshot: Snapshot, zone_ids: Sequence[str]) -> Snapshot:
    """Return a snapshot of one peer with the records of further zones."""
    lacking = {zone.id for zone in snapshot.zones if not zone.records}
    records = _records(queries.RECORDS_OF.read(sorted(lacking.intersection(zone_ids))))
    zones = [
        replace(zone, records=tuple(records[zone.id])) if zone.id in records else zone
        for zone in snapshot.zones
    ]
    return replace(snapshot, zones=tuple(zones))


def account_snapshot() -> Snapshot:
    groups = _Groups.read()
    members: dict[str, list[str]] = defaultdict(list)
    by_peer: dict[str, list[str]] = defaultdict(list)
    for group_id, peer_id in queries.MEMBERS.read():
        members[group_id].append(peer_id)
        by_peer[peer_id].append(group_id)
    peers = {
        row[0]: _peer(row, groups.everybody.union(by_peer[row[0]]))
        for row in queries.ALL_PEERS.read()
    }
    members.update({group_id: list(peers) for group_id in groups.everybody})
    return Snapshot(
        dns_domain=_dns_domain(),
        peers=peers,
        members=members,
        zones=_zones(groups, None),
        nameserver_groups=_nameserver_groups(groups),
        disabled_groups=groups.disabled,
        group_names=groups.names,
        reach=reach_facts(),
    )


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups, and the lists of DNS that name them."""

    names: dict[str, str]
    everybody: frozenset[str]
    disabled: frozenset[str]
    of: dict[str, frozenset[str]]

    @classmethod
    def read(cls) -> "_Groups":
        """Read all; `of` gives the groups of each zone and nameserver group."""
        rows = queries.GROUPS.read()
        of: dict[str, list[str]] = defaultdict(list)
        for owner_id, group_id in queries.LISTS.read():
            of[owner_id].append(group_id)
        return cls(
            names={pk: name for pk, name, _ in rows},
            everybody=frozenset(row[0] for row in rows if row[1:] == (ALL, Issued.API)),
            disabled=frozenset(of.pop("", ())),
            of={owner_id: frozenset(groups) for owner_id, groups in of.items()},
        )


def _dns_domain() -> str:
    return next(
        (canonical(domain) for (domain,) in queries.DOMAIN.read() if domain), ""
    )


def _seen_peers(
    targets: Sequence[Target], everybody: frozenset[str]
) -> tuple[dict[str, Peer], dict[str, list[str]]]:
    """Peers that somebody with these targets may see, and the members of groups."""
    groups = frozenset().union(*(target.side.groups for target in targets))
    single = frozenset().union(*(target.side.peers for target in targets))
    if not (groups or single):
        return {}, {}
    listed = sorted(groups)
    members: dict[str, list[str]] = defaultdict(list)
    for group_id, peer_id in queries.MEMBERS_OF.read(listed):
        members[group_id].append(peer_id)
    rows = (
        queries.ALL_PEERS.read()
        if groups & everybody
        else queries.PEERS_IN.read(listed, sorted(single))
    )
    peers = {row[0]: _peer(row, frozenset()) for row in rows}
    members.update({group_id: list(peers) for group_id in everybody})
    return peers, members


def _peer(row: Sequence[Any], groups: frozenset[str]) -> Peer:
    id_, name, label, ip, ipv6, extra, waiting = row
    labels = () if extra == "[]" else tuple(json.loads(extra))
    return Peer(id_, name, label, ip, groups, ipv6, labels, not waiting)


def _zones(groups: _Groups, receiving: frozenset[str] | None) -> tuple[Zone, ...]:
    """The zones; records only of those for a peer in these groups (None: of all)."""
    rows = queries.ZONES.read()
    if receiving is None:
        records = _records(queries.RECORDS.read())
    else:
        none: frozenset[str] = frozenset()
        wanted = [r[0] for r in rows if r[4] and groups.of.get(r[0], none) & receiving]
        records = _records(queries.RECORDS_OF.read(wanted))
    return tuple(
        Zone(
            id=pk,
            name=name,
            domain=_restored(stored, domain),
            groups=groups.of.get(pk, frozenset()),
            records=tuple(records.get(pk, ())),
            enabled=bool(enabled),
            search=bool(search),
            record_count=int(any_record),
        )
        for pk, name, domain, stored, enabled, search, any_record in rows
    )


def _records(rows: Rows) -> dict[str, list[Record]]:
    """Records by zone, in the order of creation."""
    cut = [row[5] for row in rows if is_digest(row[1]) or is_digest(row[3])]
    whole = models.Record.objects.in_bulk(cut) if cut else {}
    found: dict[str, list[Record]] = defaultdict(list)
    for zone_id, *columns in rows:
        pk = columns[-1]
        record = plain_record(whole[pk]) if pk in whole else Record(*columns)
        found[zone_id].append(record)
    return found


def plain_record(stored: models.Record) -> Record:
    """Return a stored record with name and content in canonical form."""
    return Record(
        name=_restored(stored.canonical_name, stored.name),
        type=stored.type,
        content=_restored(stored.canonical_content, stored.content),
        ttl=stored.ttl,
        id=stored.pk,
    )


def _restored(stored: str, sent: str) -> str:
    """The canonical form; where only its digest is stored, of the text as sent."""
    return canonical(sent) if is_digest(stored) else stored


def _nameserver_groups(groups: _Groups) -> tuple[NameserverGroup, ...]:
    return tuple(
        NameserverGroup(
            id=pk,
            name=name,
            nameservers=tuple(Nameserver(**server) for server in json.loads(servers)),
            groups=groups.of.get(pk, frozenset()),
            domains=tuple(map(canonical, json.loads(domains))),
            primary=bool(primary),
            enabled=bool(enabled),
            search=bool(search),
        )
        for pk, name, servers, domains, primary, enabled, search in (
            queries.NAMESERVER_GROUPS.read()
        )
    )
