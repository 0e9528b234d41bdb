"""The peers that are connected to this process, one stream each."""

import asyncio
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from nacl.public import Box

from meshmgmt.control.server.status import Context
from meshmgmt.control.services.logins import Session
from meshmgmt.control.services.presence import Connected, Disconnected
from observability.metrics import instruments

DEBOUNCE_SECONDS: Final = 1.0
_STREAMS: Final = instruments.gauge("management.grpc.connected.streams")


class Ending(Enum):
    """Why a stream is to end."""

    REPLACED = auto()  # the peer opened another one
    REFUSED = auto()  # deleted, blocked or expired: it is told that it sees nobody
    STOPPING = auto()  # this process ends


@dataclass(slots=True, eq=False)
class Stream:
    """One open Sync. Times are of the monotonic clock, but `started`: Unix nanoseconds.

    At most one message is on its way, and only what is to be sent next is remembered:
    a peer that reads slowly skips to the newest map. `flow` and `config_due` are set by
    the thread of the maps, too, which makes the configuration.
    """

    peer_id: str
    started: int
    box: Box
    context: Context
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    ending: Ending | None = None
    map_due: float = math.inf
    config_due: float = math.inf
    sent_at: float = -math.inf
    waiting_since: float | None = field(default_factory=time.monotonic)
    held: int = 0  # the serial of the map that the peer has; 0 before the first
    # What the peer was told about reporting traffic, see `FlowRule`.
    flow: tuple[bool, bool] | None = None

    def end(self, why: Ending) -> None:
        """Let the stream end; the first reason counts."""
        self.ending = self.ending or why
        self.wake.set()

    def changed(self, now: float) -> None:
        """Have the newest map sent: at once, or a second after the one before."""
        if self.waiting_since is None:
            self.waiting_since = now
        if self.map_due < math.inf:
            return
        self.map_due = max(now, self.sent_at + DEBOUNCE_SECONDS)
        if self.map_due <= now:
            self.wake.set()
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(self.map_due - now, self.wake.set)

    def delivered(self, serial: int) -> None:
        """Note which map the peer has: its newest, unless another is due already."""
        self.held = serial
        if self.map_due == math.inf:
            self.waiting_since = None

    def configure(self, now: float) -> None:
        """Have the configuration sent again."""
        self.config_due = now
        self.wake.set()


class Streams:
    """Registry of the streams, and what happened to them since it was last asked."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}
        self._last_start = 0
        self.changes: list[Connected | Disconnected] = []

    def open(self, session: Session, box: Box, context: Context) -> Stream:
        """Register a stream; an older one of the same peer ends."""
        peer_id = session.peer_id
        # A fence needs a new number, also where the clock stands still or goes back, and
        # one above what another host wrote, whose clock may be ahead.
        before = max(self._last_start, session.stream_started)
        self._last_start = max(time.time_ns(), before + 1)
        stream = Stream(peer_id, self._last_start, box, context)
        self.replace(peer_id, stream.started)
        self._streams[peer_id] = stream
        self.changes.append(Connected(peer_id, stream.started))
        _STREAMS.set(len(self._streams))
        return stream

    def replace(self, peer_id: str, started: int) -> None:
        """End a stream of the peer that began before `started`."""
        known = self._streams.get(peer_id)
        if known is not None and known.started < started:
            known.end(Ending.REPLACED)

    def close(self, stream: Stream) -> None:
        # One that was replaced is in nobody's place any more.
        if self._streams.get(stream.peer_id) is stream:
            del self._streams[stream.peer_id]
        self.changes.append(Disconnected(stream.peer_id, stream.started))
        _STREAMS.set(len(self._streams))

    def tell_all(self) -> None:
        """Have every stream written as open once more."""
        self.changes += [Connected(s.peer_id, s.started) for s in self]

    def get(self, peer_id: str) -> Stream | None:
        """Return the newest stream of a peer, None when it has none here."""
        return self._streams.get(peer_id)

    def __len__(self) -> int:
        return len(self._streams)

    def __iter__(self) -> Iterator[Stream]:
        return iter(list(self._streams.values()))

    def peer_ids(self) -> list[str]:
        return list(self._streams)

    def oldest_wait(self) -> float:
        """Return for how many seconds the longest waiting peer has waited for its map."""
        since = [s.waiting_since for s in self if s.waiting_since is not None]
        return time.monotonic() - min(since) if since else 0.0

    def waiting(self, most: int) -> dict[str, tuple[float, int]]:
        """Return since when (Unix seconds) peers wait for their map, longest first.

        And the serial of the map that each has meanwhile.
        """
        epoch = time.time() - time.monotonic()
        since = [
            (epoch + s.waiting_since, s.peer_id, s.held)
            for s in self
            if s.waiting_since is not None
        ]
        longest = sorted(since)[:most]
        return {peer_id: (moment, held) for moment, peer_id, held in longest}
