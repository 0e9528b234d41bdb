"""What one room above knows about peers, and registers in its `room.py`."""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Final

from meshmgmt.core.registry import Registry

ShortGroup = dict[str, Any]
"""`id`, `name`, `peers_count`, `resources_count`, as the API shows a group in a peer."""

GroupsOfPeer = Callable[[str], list[ShortGroup]]


peer_groups: Final = Registry[str, Callable[[Sequence[str] | None], GroupsOfPeer]]()
"""Takes the ids of peers, None for all, and gives a function from an id to groups."""
reachable_since: Final = Registry[str, Callable[[], dt.datetime | None]]()
"""Since when peers can connect without a break: now, when they cannot.

None when they do not connect to this deployment at all. Who was away while nobody could
connect is not to blame.
"""
