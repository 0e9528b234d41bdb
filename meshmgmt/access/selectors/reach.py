"""Which peers one peer can reach; the decision itself is in `meshmgmt.access.reach`."""

from groups.selectors import group_members, groups_of_peer
from meshmgmt.access import reach
from meshmgmt.access.selectors.reachfacts import reach_facts
from meshmgmt.access.visibility import causes
from meshmgmt.accounts.models import User
from meshmgmt.core.errors import NotFound
from meshmgmt.inventory.selectors import (
    ACCESSIBLE,
    FEW,
    PeerRow,
    peer_rows,
    visible_peers,
)


def accessible_peer_rows(viewer: User, peer_id: str) -> list[PeerRow]:
    """Return the peers that a peer can reach, of those that `viewer` may see.

    Raises NotFound for a peer that `viewer` may not see.
    """
    if not visible_peers(viewer).filter(pk=peer_id).exists():
        raise NotFound.of("peer", peer_id)
    reachable = reachable_peers(peer_id)
    few = len(reachable) <= FEW
    rows = peer_rows(viewer, sorted(reachable) if few else None)
    return [
        {name: row[name] for name in ACCESSIBLE if name in row}
        for row in rows
        if row["id"] in reachable
    ]


def reachable_peers(peer_id: str) -> frozenset[str]:
    """Return the ids of the peers that a peer can reach, itself not among them."""
    groups = groups_of_peer(peer_id)
    graph = reach.ReachGraph(reach_facts(peer_id, groups))
    sides = [target.side for target in graph.targets(peer_id, groups)]
    members = group_members({group for side in sides for group in side.groups})
    return frozenset(causes(graph, members, peer_id, groups))
