"""Who is in what: peers that count, and the peers behind groups and sides of rules."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from meshmgmt.netmap.posture import passes
from meshmgmt.netmap.snapshot import Peer, PostureCheck, Settings, Snapshot

NOBODY: Final[frozenset[str]] = frozenset()
MOST_PARTS: Final = 8
"""Above it, comparing sides with each other takes longer than sorting their peers."""


class Side(NamedTuple):
    """Peers on one side of a rule: as a set, and in the order of their ids.

    A `shared` one lives as long as its mesh and appears in the maps of many peers.
    """

    ids: frozenset[str]
    ordered: tuple[str, ...]
    shared: bool = False

    @classmethod
    def of(cls, ids: Iterable[str], *, shared: bool = False) -> "Side":
        """The side with these peers."""
        ordered = tuple(sorted(ids))
        return cls(frozenset(ordered), ordered, shared)


EMPTY: Final = Side.of(())


class Part(NamedTuple):
    """The peers of a side that are in no earlier part."""

    side: Side
    without: frozenset[str] = NOBODY


class Union(tuple[Part, ...]):
    """Peers of several sides, each once, kept apart so that parts can be shared."""

    __slots__ = ()

    @classmethod
    def of(cls, sides: Iterable[Side], *, without: str = "") -> "Union":
        """The peers of all the sides but the peer `without`."""
        distinct = {id(side): side for side in sides if side.ids}
        if len(distinct) == 1:  # by far the most
            [side] = distinct.values()
            if without not in side.ids:
                return cls((Part(side),))
            return cls(
                (Part(side, frozenset((without,))),) if len(side.ids) > 1 else ()
            )
        if len(distinct) > MOST_PARTS:
            ids = NOBODY.union(*(side.ids for side in distinct.values()))
            return cls([Part(Side.of(ids - {without}))])
        parts: list[Part] = []
        for side in distinct.values():
            seen = [side.ids & part.side.ids for part in parts]
            double = NOBODY.union(*seen) if any(seen) else NOBODY
            if without in side.ids:
                double |= {without}
            if len(double) < len(side.ids):
                parts.append(Part(side, double))
        return cls(parts)

    @property
    def ids(self) -> frozenset[str]:
        """All of them."""
        return NOBODY.union(*(side.ids - without for side, without in self))

    @property
    def sides(self) -> list[Side]:
        """What it was made of."""
        return [part.side for part in self]

    def has(self, peer_id: str) -> bool:
        """Tell whether a peer is among them."""
        return any(
            peer_id in side.ids and peer_id not in without for side, without in self
        )


NONE: Final = Union()


class Membership:
    """Peers that count, by group.

    Peers that wait for approval, whose login expired or whose owner is blocked are in
    no group: others neither see them nor get anything through them.
    """

    def __init__(self, snapshot: Snapshot, now: float) -> None:
        self._snapshot = snapshot
        self.peers: dict[str, Peer] = {
            peer_id: peer
            for peer_id, peer in sorted(snapshot.peers.items())
            if counts(peer, snapshot, now)
        }
        self._all = frozenset(self.peers)
        self._groups: dict[str, set[str]] = {
            peer_id: {snapshot.everybody} for peer_id in snapshot.peers
        }
        for group_id, members in snapshot.members.items():
            for peer_id in members:
                if peer_id in self._groups:
                    self._groups[peer_id].add(group_id)
        self._members: dict[str, frozenset[str]] = {snapshot.everybody: self._all}
        self._unions: dict[tuple[int, ...], Union] = {}
        self._sides: dict[tuple[frozenset[str], str | None, tuple[str, ...]], Side] = {}

    def groups_of(self, peer_id: str) -> set[str]:
        """Ids of the groups a peer is in, whether it counts or not."""
        return self._groups[peer_id]

    def members(self, group_id: str) -> frozenset[str]:
        """The peers of a group that count."""
        found = self._members.get(group_id)
        if found is None:
            found = self._snapshot.members.get(group_id, NOBODY) & self._all
            self._members[group_id] = found
        return found

    def side(
        self,
        groups: frozenset[str],
        peer: str | None = None,
        checks: tuple[PostureCheck, ...] = (),
    ) -> Side:
        """The peers of groups, or the one peer, that pass the checks."""
        key = (groups, peer, tuple(check.id for check in checks))
        side = self._sides.get(key)
        if side is None:
            ids = self._all & {peer} if peer is not None else self._union(groups)
            side = Side.of(self._passing(ids, checks), shared=True)
            self._sides[key] = side
        return side

    def union(self, sides: Iterable[Side], *, without: str) -> Union:
        """The peers of sides but one, like `Union.of`; made once for shared sides."""
        distinct = [side for side in sides if side.ids]
        for side in distinct:
            if not side.shared or without in side.ids:
                return Union.of(distinct, without=without)
        key = tuple(map(id, distinct))
        union = self._unions.get(key)
        if union is None:
            union = self._unions[key] = Union.of(distinct)
        return union

    def _union(self, groups: frozenset[str]) -> frozenset[str]:
        if self._snapshot.everybody in groups:
            return self._all
        return NOBODY.union(*map(self.members, groups))

    def _passing(
        self, ids: frozenset[str], checks: tuple[PostureCheck, ...]
    ) -> Iterable[str]:
        if not checks:
            return ids
        return [id_ for id_ in ids if passes(self.peers[id_], checks)]


def counts(peer: Peer, snapshot: Snapshot, now: float) -> bool:
    """Tell whether a peer takes part: approved, login valid, owner not blocked."""
    if not peer.approved or peer.login_expired:
        return False
    owner = snapshot.users.get(peer.user_id) if peer.user_id else None
    if owner is not None and owner.blocked:
        return False
    ends = login_ends(peer, snapshot.settings)
    return ends is None or ends > now


def login_ends(peer: Peer, settings: Settings) -> float | None:
    """When the login of a peer ends, None for one without an end."""
    if (
        settings.login_period is None
        or not peer.login_expires
        or peer.user_id is None
        or peer.last_login is None
    ):
        return None
    return peer.last_login + settings.login_period
