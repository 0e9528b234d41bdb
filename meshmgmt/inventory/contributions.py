"""What rooms above know about the inventory; they set it in their `room.py`."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

ShortGroup = dict[str, Any]
"""`id`, `name`, `peers_count`, `resources_count`, as the API shows a group in a peer."""

GroupsOfPeer = Callable[[str], list[ShortGroup]]


@dataclass(slots=True)
class Contributions:
    """Answers of other rooms; each as it is while no room gives one.

    `peer_groups` takes the ids of the peers it will be asked for, None for all, and gives
    a function from a peer's id to its groups. `reachable_since` says since when peers can
    connect without a break: now, when they cannot; None when they do not connect to this
    deployment at all. Who was away while nobody could connect is not to blame.
    """

    peer_groups: Callable[[Sequence[str] | None], GroupsOfPeer] = lambda peer_ids: (
        lambda peer_id: []
    )
    reachable_since: Callable[[], dt.datetime | None] = lambda: None


contributions: Final = Contributions()
