"""What upper rooms know about the inventory; they register in their `ready()`."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from meshmgmt.core import context

MAX_NAMED: Final = 5

ShortGroup = dict[str, Any]
"""`id`, `name`, `peers_count`, `resources_count`, as the API shows a group in a peer."""

GroupsOfPeer = Callable[[str], list[ShortGroup]]
GroupsOf = Callable[[Sequence[str] | None], GroupsOfPeer]
Unlink = Callable[[Sequence[str]], None]

ReachableSince = Callable[[], dt.datetime | None]

_peer_groups: list[GroupsOf] = []
_reachable_since: list[ReachableSince] = []
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


def register_reachable_since(ask: ReachableSince) -> None:
    """Set who tells since when peers can connect; see `reachable_since`."""
    _reachable_since[:] = [ask]


def reachable_since() -> dt.datetime | None:
    """Return since when peers can connect without a break: now, when they cannot.

    None when they do not connect to this deployment at all. Who was away while nobody
    could connect is not to blame.
    """
    return _reachable_since[0]() if _reachable_since else None


def register_peer_unlinker(unlink: Unlink) -> None:
    """Add a function that takes peers (ids) out of an upper room's lists."""
    _peer_unlinkers.append(unlink)


def unlink_peers(names: Mapping[str, str]) -> None:
    """Take the peers (name by id), which are about to be deleted, out of every list."""
    with context.scope(reason=_deletion_reason("peer", list(names.values()))):
        for unlink in _peer_unlinkers:
            unlink(list(names))


def register_resource_unlinker(unlink: Unlink) -> None:
    """Add a function that takes resources (ids) out of an upper room's lists."""
    _resource_unlinkers.append(unlink)


def unlink_resources(names: Mapping[str, str]) -> None:
    """Take the resources (name by id), which are about to be deleted, out of every list."""
    with context.scope(reason=_deletion_reason("resource", list(names.values()))):
        for unlink in _resource_unlinkers:
            unlink(list(names))


def _deletion_reason(kind: str, names: Sequence[str]) -> str:
    """Return what the events of objects touched by a deletion give as reason."""
    shown = ", ".join(repr(name) for name in names[:MAX_NAMED])
    if len(names) == 1:
        return f"{kind} {shown} was deleted"
    more = len(names) - MAX_NAMED
    return f"{kind}s {shown}{f' and {more} more' if more > 0 else ''} were deleted"
