"""What peers notice of a write: whose network map and whose DNS becomes another."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from meshmgmt.control.encoding.message import Encoder
from meshmgmt.control.maps import MapStore
from meshmgmt.explain.api.serializers import ShiftsSerializer
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.result import Dns
from meshmgmt.mesh.shifts import Shifts, shifts
from meshmgmt.mesh.snapshot import NameserverGroup, Peer, Zone

EXACTLY: Final = 200
"""Up to so many maps are made before and after; of more, who may be affected is told."""

NAMED: Final = 100
"""So many peers are named; all are counted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What peers notice: for people, and for comparing two plans."""

    shown: dict[str, Any]
    essence: Any
    reach: dict[str, Any]


def _told(peers: Sequence[Peer]) -> dict[str, Any]:
    named = [
        {"id": peer.id, "name": peer.label, "ip": peer.ip} for peer in peers[:NAMED]
    ]
    return {"count": len(peers), "peers": named}


NOBODY: Final = Seen(
    {"maps": {**_told([]), "exact": True}, "dns": []},
    [],
    ShiftsSerializer.plain(Shifts(())),
)


class PeersBefore:
    """Keeps what peers have, to compare it with what they get."""

    def __init__(self) -> None:
        # A store of its own: that of the process serves peers what is committed.
        self._store = MapStore(serving=False)

    def read(self) -> None:
        """Read the account; the second time only what was written since."""
        self._store.refresh()

    def compared(self) -> Seen:
        """Compare with what is there now, in the transaction of a write."""
        before = self._store.mesh
        refresh = self._store.refresh()
        after = self._store.mesh
        ids, exact = told_anew(before, after, refresh.affected)
        peers = [after.snapshot.peers[peer_id] for peer_id in sorted(ids)]
        peers.sort(key=lambda peer: peer.label)
        return Seen(
            {
                "maps": {**_told(peers), "exact": exact},
                "dns": _dns_changes(before, after, peers),
            },
            sorted(ids),
            ShiftsSerializer.plain(shifts(before, after)),
        )


def told_anew(
    before: Mesh, after: Mesh, candidates: frozenset[str] | None
) -> tuple[frozenset[str], bool]:
    """Return who of the `candidates` (None: all) gets another map, and if just these do."""
    # Who came or went has no map to compare with.
    common = before.snapshot.peers.keys() & after.snapshot.peers.keys()
    ids = common if candidates is None else common & candidates
    exact = len(ids) <= EXACTLY
    return frozenset(_with_another_map(before, after, ids) if exact else ids), exact


def _with_another_map(before: Mesh, after: Mesh, ids: Iterable[str]) -> set[str]:
    old, new = Encoder(), Encoder()
    old.use(before)
    new.use(after)
    return {
        peer_id
        for peer_id in ids
        if old.encode(before.network_map(peer_id)).differs(
            new.encode(after.network_map(peer_id))
        )
    }


def _dns_changes(
    before: Mesh, after: Mesh, peers: Sequence[Peer]
) -> list[dict[str, Any]]:
    """Return each difference with the peers that have it, the most frequent first."""
    found: defaultdict[tuple[Any, ...], list[Peer]] = defaultdict(list)
    for peer in peers:
        difference = _difference(before.dns(peer.id), after.dns(peer.id))
        if difference is not None:
            found[difference].append(peer)
    many_first = sorted(found.items(), key=lambda item: -len(item[1]))
    return [
        {
            "managed": {"before": managed[0], "after": managed[1]},
            "zones": _lists(zones),
            "nameserver_groups": _lists(groups),
            "peers": _told(having),
        }
        for (managed, zones, groups), having in many_first
    ]


def _difference(old: Dns | None, new: Dns | None) -> tuple[Any, ...] | None:
    managed = (old is not None, new is not None)
    zones = _compared(old.zones if old else (), new.zones if new else ())
    groups = _compared(
        old.nameserver_groups if old else (), new.nameserver_groups if new else ()
    )
    if managed[0] == managed[1] and not any((*zones, *groups)):
        return None
    return managed, zones, groups


def _compared(
    old: Sequence[Zone] | Sequence[NameserverGroup],
    new: Sequence[Zone] | Sequence[NameserverGroup],
) -> tuple[tuple[str, ...], ...]:
    """Return the names of what was added, removed and changed."""
    before = {item.id: _for_peers(item) for item in old}
    after = {item.id: _for_peers(item) for item in new}
    return (
        tuple(after[key].name for key in after if key not in before),
        tuple(before[key].name for key in before if key not in after),
        tuple(
            after[key].name
            for key in after
            if key in before and after[key] != before[key]
        ),
    )


def _for_peers(item: Zone | NameserverGroup) -> Zone | NameserverGroup:
    """Return what peers see of it: not for whom else it is."""
    return replace(item, groups=frozenset())


def _lists(compared: tuple[tuple[str, ...], ...]) -> dict[str, list[str]]:
    added, removed, changed = map(list, compared)
    return {"added": added, "removed": removed, "changed": changed}
