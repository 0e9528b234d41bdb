"""Who is in what: peers that count, and the peers behind groups and sides of rules."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from meshmgmt.mesh.posture import passes
from meshmgmt.mesh.sides import NOBODY, Roster, Side, Union
from meshmgmt.mesh.snapshot import Peer, PostureCheck, Settings, Snapshot


class Membership:
    """Peers that count, by group.

    Peers that wait for approval, whose login expired or whose owner is blocked are in
    no group: others neither see them nor get anything through them.
    """

    def __init__(self, snapshot: Snapshot, now: float) -> None:
        self._snapshot = snapshot
        self.peers: dict[str, Peer] = {
            peer_id: peer
            # In the order of the roster: what is about peers is also found by their
            # places.
            for peer_id, peer in sorted(snapshot.peers.items())
            if not absence(peer, snapshot, now)
        }
        self.roster = Roster(self.peers)
        groups: dict[str, list[str]] = {
            peer_id: [snapshot.everybody] for peer_id in snapshot.peers
        }
        for group_id, members in snapshot.members.items():
            for peer_id in members:
                if peer_id in groups:
                    groups[peer_id].append(group_id)
        self._groups = {peer_id: frozenset(ids) for peer_id, ids in groups.items()}
        self._masks = {snapshot.everybody: self.roster.mask(self.peers)}
        self._unions: dict[tuple[int, ...], Union] = {}
        self._sides: dict[tuple[frozenset[str], str | None, tuple[str, ...]], Side] = {}

    def groups_of(self, peer_id: str) -> frozenset[str]:
        """Ids of the groups a peer is in, whether it counts or not."""
        return self._groups[peer_id]

    def members(self, group_id: str) -> frozenset[str]:
        """The peers of a group that count."""
        return frozenset(self.roster.listed(self._mask(group_id)))

    def listed(self, mask: int) -> list[Peer]:
        """The peers behind bits, in order."""
        return [self.peers[id_] for id_ in self.roster.listed(mask)]

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
            if peer is not None:
                mask = self.roster.bit(peer)
            else:
                mask = reduce(or_, map(self._mask, groups), 0)
            side = Side(self.roster, self._passing(mask, checks), shared=True)
            self._sides[key] = side
        return side

    def union(self, sides: Iterable[Side], *, without: str) -> Union:
        """The peers of sides but one; made once for shared sides."""
        distinct = [side for side in sides if side.mask]
        own = self.roster.bit(without)
        for side in distinct:
            # A peer among its own is left out of the union, which then is nobody
            # else's.
            if not side.shared or side.mask & own:
                return Union(self.roster, distinct, without=without)
        # Shared sides live as long as the mesh, so no other object gets their id().
        key = tuple(map(id, distinct))
        union = self._unions.get(key)
        if union is None:
            union = self._unions[key] = Union(self.roster, distinct)
        return union

    def _mask(self, group_id: str) -> int:
        if group_id not in self._masks:
            members = self._snapshot.members.get(group_id, NOBODY)
            self._masks[group_id] = self.roster.mask(members)
        return self._masks[group_id]

    def _passing(self, mask: int, checks: tuple[PostureCheck, ...]) -> int:
        if not checks:
            return mask
        ids = self.roster.listed(mask)
        return self.roster.mask(id_ for id_ in ids if passes(self.peers[id_], checks))


def absence(peer: Peer, snapshot: Snapshot, now: float) -> tuple[str, ...]:
    """Why a peer takes no part, as codes of `Reason`; none for one that does.

    It must be approved, its owner not blocked and its login valid.
    """
    owner = snapshot.users.get(peer.user_id) if peer.user_id else None
    ends = login_ends(peer, snapshot.settings)
    if peer.approved and not peer.login_expired and owner is None and ends is None:
        return ()  # by far the most
    found = (
        ("approval_pending", not peer.approved),
        ("owner_blocked", owner is not None and owner.blocked),
        ("login_expired", peer.login_expired or (ends is not None and ends <= now)),
    )
    return tuple([code for code, holds in found if holds])


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
