"""How large peers' network maps are, and the warning about too large ones."""

import logging
import time
from contextlib import suppress
from typing import Final

from django.conf import settings

from meshmgmt.core.locks import lock
from meshmgmt.mesh.peerdns import NETWORK_MAP_GUIDANCE, PeerDns
from observability.metrics import instruments

REPEAT_SECONDS: Final = 3600
_warned: Final[dict[str, float]] = {}
"""When this process last saw a warning about a peer: most need no look at the file."""

_LOG: Final = logging.getLogger(__name__)
DURATION: Final = instruments.histogram(
    "management.account.get.peer.network.map.duration.ms"
)
ALL_DURATION: Final = instruments.histogram(
    "management.account.update.account.peers.duration.ms"
)
"""Of one computation of every peer's configuration, reading included."""
_OBJECTS: Final = instruments.histogram("management.account.network.map.object.count")


def observe_map(config: PeerDns, *, seconds: float) -> None:
    """Measure a configuration that took `seconds`; warn about more than 5,000 objects.

    The warning comes once per peer and hour, whichever worker computes it.
    """
    DURATION.observe(seconds * 1000)
    observe_objects(config.peer_id, config.object_count)


def observe_objects(peer_id: str, count: int) -> None:
    """Measure a map of `count` objects, and warn likewise."""
    _OBJECTS.observe(count)
    if count > NETWORK_MAP_GUIDANCE and _not_warned_lately(peer_id):
        _LOG.warning(
            "the network map of a peer holds more than %d objects, which may slow it"
            " down",
            NETWORK_MAP_GUIDANCE,
            extra={"peer_id": peer_id, "objects": count},
        )


def _not_warned_lately(peer_id: str) -> bool:
    """Tell whether no worker has warned about the peer in the last hour, and note it."""
    if _is_lately(_warned.get(peer_id, 0.0)):
        return False
    before = 0.0
    with suppress(OSError):  # on a full disk each worker warns for itself
        folder = settings.SVC.runtime_dir / "large-maps"
        folder.mkdir(parents=True, exist_ok=True)
        # A file, for workers share nothing else, and this is called while the database
        # is read.
        with (folder / peer_id).open("a+", encoding="ascii") as file:
            lock(file)
            file.seek(0)
            before = float(file.read() or 0)
            if not _is_lately(before):
                file.truncate(0)
                file.write(str(time.time()))
    lately = _is_lately(before)
    _warned[peer_id] = before if lately else time.time()
    return not lately


def _is_lately(moment: float) -> bool:
    # One to come means that the clock was set back, and does not count.
    return time.time() - REPEAT_SECONDS < moment <= time.time()
