"""Which of some peers hold the newest maps, by what the processes that serve them left."""

from collections.abc import Set
from typing import NamedTuple

from meshmgmt.control.server import figures
from meshmgmt.inventory.models import Peer


class Delivered(NamedTuple):
    """Of some peers: how many are online, have the maps, and are served by other hosts.

    What those of other hosts have is known there.
    """

    online: int
    having: int
    elsewhere: int

    @property
    def is_done(self) -> bool:
        return self.having + self.elsewhere == self.online


def delivered(peer_ids: Set[str], serial: int) -> Delivered:
    """Return how far the maps of a serial have come."""
    here = {found.process: found for found in figures.current()}
    having = elsewhere = online = 0
    rows = Peer.objects.filter(connected=True).order_by()
    for peer_id, process in rows.values_list("pk", "stream_process"):
        if peer_id not in peer_ids:
            continue
        online += 1
        if (found := here.get(process)) is None:
            elsewhere += 1
        else:
            held = found.waiting.get(peer_id, (0.0, found.serial))[1]
            having += min(held, found.serial) >= serial
    return Delivered(online, having, elsewhere)
