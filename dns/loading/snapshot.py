"""Builds snapshots from rows: of what one peer needs, or of the whole account."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dns.effective import Nameserver, NameserverGroup, Peer, Record, Snapshot, Zone
from dns.loading import statements
from dns.loading.reach import reach_facts
from dns.models import Record as StoredRecord
from dns.storedform import is_digest
from meshmgmt.access.reach import ReachGraph, Target
from meshmgmt.core.errors import NotFound
from meshmgmt.core.names import canonical

PEER_KIND: Final = "peer"


def peer_snapshot(peer_id: str) -> tuple[Snapshot, ReachGraph]:
    """Return what decides the configuration of one peer, and who reaches whom.

    At most six queries. Records are those of the zones that the peer gets, peers are
    those that it may see. Raises NotFound.
    """
    found = statements.peer_row(peer_id)
    if found is None:
        raise NotFound.of(PEER_KIND, peer_id)
    domain, *columns = found
    links = Links.read(peer_id)
    groups = frozenset(links.of["member"][peer_id]) | links.everybody
    heads = statements.heads()
    reach = reach_facts(statements.reach_facts(), links.of)
    graph = ReachGraph(reach)
    peer = _peer(columns, groups)
    managed = peer.approved and groups.isdisjoint(links.disabled)
    wanted = _zones_for(heads, links, groups) if managed else []
    zones, nameserver_groups = _split(
        heads, links, statements.records(wanted) if wanted else []
    )
    peers, members = _seen_peers(
        graph.targets(peer_id, groups) if managed else [], links.everybody
    )
    peers[peer_id] = peer
    snapshot = Snapshot(
        dns_domain=canonical(domain) if domain else "",
        peers=peers,
        members=members,
        zones=zones,
        nameserver_groups=nameserver_groups,
        disabled_groups=links.disabled,
        group_names=links.names,
        reach=reach,
    )
    return snapshot, graph


def _seen_peers(
    targets: Sequence[Target], everybody: frozenset[str]
) -> tuple[dict[str, Peer], dict[str, list[str]]]:
    """Peers that somebody with these targets may see, and the members of groups."""
    group_ids = sorted({group for target in targets for group in target.groups})
    rows = statements.members(
        group_ids,
        sorted({peer for target in targets for peer in target.peers}),
        everybody=not everybody.isdisjoint(group_ids),
    )
    peers: dict[str, Peer] = {}
    members: dict[str, list[str]] = defaultdict(list)
    for group_id, *columns in rows:
        if columns[0] not in peers:
            peers[columns[0]] = _peer(columns, frozenset())
        members[group_id].append(columns[0])
    members.update({group_id: list(peers) for group_id in everybody})
    return peers, members


def account_snapshot() -> Snapshot:
    """Return the whole account, in six queries whatever its size."""
    domain = statements.dns_domain()
    links = Links.read(None)
    zones, nameserver_groups = _split(
        statements.heads(), links, statements.records(None)
    )
    reach = reach_facts(statements.reach_facts(), links.of)
    by_peer = links.of["member"]
    peers = {
        columns[0]: _peer(columns, frozenset(by_peer[columns[0]]) | links.everybody)
        for _, *columns in statements.all_peers()
    }
    members: dict[str, list[str]] = {
        group_id: list(peers) for group_id in links.everybody
    }
    for peer_id, group_ids in by_peer.items():
        for group_id in group_ids:
            members.setdefault(group_id, []).append(peer_id)
    return Snapshot(
        dns_domain=canonical(domain) if domain else "",
        peers=peers,
        members=members,
        zones=zones,
        nameserver_groups=nameserver_groups,
        disabled_groups=links.disabled,
        group_names=links.names,
        reach=reach,
    )


@dataclass(slots=True)
class Links:
    """Lists of groups: kind to owner to group ids; names of the groups in them."""

    of: dict[str, dict[str, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, peer_id: str | None) -> "Links":
        """Read them; memberships are those of one peer, or of all for None."""
        links = cls()
        of, names = links.of, links.names
        for kind, owner_id, group_id, name in statements.group_links(peer_id):
            of[kind][owner_id].append(group_id)
            names[group_id] = name
        return links

    @property
    def everybody(self) -> frozenset[str]:
        """The group of all peers, as a set of its id."""
        return frozenset(self.of["all"][""])

    @property
    def disabled(self) -> frozenset[str]:
        """Groups without DNS management."""
        return frozenset(
            group_id for ids in self.of["disabled"].values() for group_id in ids
        )


def _zones_for(
    heads: statements.Rows, links: Links, groups: frozenset[str]
) -> list[str]:
    """Ids of the zones whose records a peer with these groups gets."""
    lists = links.of["zone"]
    return [
        head[1]
        for head in heads
        if head[0] == "zone" and head[3] and not groups.isdisjoint(lists[head[1]])
    ]


def _split(
    heads: statements.Rows, links: Links, records: statements.Rows
) -> tuple[tuple[Zone, ...], tuple[NameserverGroup, ...]]:
    by_zone: dict[str, list[Record]] = defaultdict(list)
    for zone_id, id_, name, type_, content, ttl, sent_name, sent_content in records:
        by_zone[zone_id].append(
            Record(
                _restored(name, sent_name),
                type_,
                _restored(content, sent_content),
                ttl,
                id_,
            )
        )
    zones: list[Zone] = []
    groups: list[NameserverGroup] = []
    for kind, id_, name, enabled, search, primary, domains, servers, filled in heads:
        if kind == "zone":
            zones.append(
                Zone(
                    id=id_,
                    name=name,
                    domain=canonical(domains),
                    groups=frozenset(links.of["zone"][id_]),
                    records=tuple(by_zone[id_]),
                    enabled=bool(enabled),
                    search=bool(search),
                    record_count=int(filled),
                )
            )
        else:
            groups.append(
                NameserverGroup(
                    id=id_,
                    name=name,
                    nameservers=_servers(servers),
                    groups=frozenset(links.of["nameserver_group"][id_]),
                    domains=tuple(canonical(text) for text in json.loads(domains)),
                    primary=bool(primary),
                    enabled=bool(enabled),
                    search=bool(search),
                )
            )
    return tuple(zones), tuple(groups)


def _servers(text: str) -> tuple[Nameserver, ...]:
    return tuple(
        Nameserver(ip=server["ip"], port=server["port"], ns_type=server["ns_type"])
        for server in json.loads(text)
    )


def plain_record(record: StoredRecord) -> Record:
    """Return a stored record with name and content in canonical form."""
    return Record(
        name=_restored(record.canonical_name, record.name),
        type=record.type,
        content=_restored(record.canonical_content, record.content),
        ttl=record.ttl,
        id=record.pk,
    )


def _restored(stored: str, sent: str) -> str:
    """The canonical form; where only its digest is stored, of the text as sent."""
    return canonical(sent) if is_digest(stored) else stored


def _peer(columns: Sequence[Any], groups: frozenset[str]) -> Peer:
    id_, name, label, ip, ipv6, extra, waiting = columns
    return Peer(
        id=id_,
        name=name,
        label=label,
        ip=ip,
        groups=groups,
        ipv6=ipv6,
        extra_labels=_labels(extra),
        approved=not waiting,
    )


def _labels(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))
