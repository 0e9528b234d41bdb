"""What upper rooms know about the inventory; they register in their `ready()`."""

from collections.abc import Callable, Sequence
from typing import Any, Final

ShortGroup = dict[str, Any]
"""`id`, `name`, `peers_count`, `resources_count`, as the API shows a group in a peer."""

GroupsOfPeer = Callable[[str], list[ShortGroup]]
GroupsOf = Callable[[Sequence[str] | None], GroupsOfPeer]
Unlink = Callable[[Sequence[str]], None]

_peer_groups: list[GroupsOf] = []
_peer_unlinkers: Final[list[Unlink]] = []
_resource_unlinkers: Final[list[Unlink]] = []


def register_peer_groups(groups_of: GroupsOf) -> None:
    """Set who tells the groups of peers; see `peer_groups`."""
    _peer_groups[:] = [groups_of]


def peer_groups(peer_ids: Sequence[str] | None) -> GroupsOfPeer:
    """Return a function that gives the groups of a peer, by its id.

    `peer_ids` are the peers it will be asked for, None for all.
    """
    return _peer_groups[0](peer_ids) if _peer_groups else lambda peer_id: []


def register_peer_unlinker(unlink: Unlink) -> None:
    """Add a function that takes peers (ids) out of an upper room's lists."""
    _peer_unlinkers.append(unlink)


def unlink_peers(peer_ids: Sequence[str]) -> None:
    """Take the peers, which are about to be deleted, out of every list."""
    for unlink in _peer_unlinkers:
        unlink(peer_ids)


def register_resource_unlinker(unlink: Unlink) -> None:
    """Add a function that takes resources (ids) out of an upper room's lists."""
    _resource_unlinkers.append(unlink)


def unlink_resources(resource_ids: Sequence[str]) -> None:
    """Take the resources, which are about to be deleted, out of every list."""
    for unlink in _resource_unlinkers:
        unlink(resource_ids)
