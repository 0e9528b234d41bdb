"""Maps to streams: what changed is computed once, for those it concerns, a few at a time.

The map store works in one thread of its own. Peers that begin a stream are let in a few
at a time, and of those that wait for a new map only a few are served at once: each
finishes soon, and few maps are in memory, however many peers there are.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import grpc

from meshmgmt.control.maps import Refresh
from meshmgmt.control.protocol.management_pb2 import EncryptedMessage, SyncRequest
from meshmgmt.control.server.envelope import Envelopes
from meshmgmt.control.server.messages import Make, Messages, login_responses
from meshmgmt.control.server.status import Context, tell_failure
from meshmgmt.control.server.streams import Ending, Stream, Streams
from meshmgmt.control.server.tasks import Place, Places
from meshmgmt.control.server.threads import Batches, Threads
from meshmgmt.control.services import sessions
from meshmgmt.control.services.sessions import SyncOpening
from meshmgmt.core import context as facts
from meshmgmt.env import Config
from meshmgmt.inventory.standing import standings
from observability.metrics import instruments

ENTERING: Final = 32
SERVED_AT_ONCE: Final = 64
"""Many enough that handing over to the thread of the maps and back costs little."""
LONGEST_PAUSE: Final = 1.0
"""A refresh is followed by a pause as long as it took, but no longer."""
_EARLY: Final = 0.01  # a timer of the event loop may fire that much too soon

_LOG: Final = logging.getLogger(__name__)
_FANOUT: Final = instruments.histogram(
    "management.account.update.account.peers.duration.ms"
)
_QUEUE: Final = instruments.histogram("management.grpc.updatechannel.queue")


class Hub:
    """Keeps all streams of this process up to date."""

    def __init__(
        self, config: Config, envelopes: Envelopes, streams: Streams, threads: Threads
    ) -> None:
        self.streams = streams
        self.threads = threads
        self.messages = Messages(config, envelopes)
        self.maps = Threads(1, "maps")
        self.serial = 0
        self.on_serial: Callable[[], None] = lambda: None
        self._making = Batches(self.maps, self.messages.sealed)
        self.logins = Batches(threads, partial(login_responses, config))
        """What peers that logged in are told."""
        self._openings = Batches(threads, sessions.open_syncs)
        self._entrance = Places(ENTERING)
        self._turns = Places(SERVED_AT_ONCE)
        self._wanted = asyncio.Event()
        self._next = asyncio.get_running_loop().create_future()

    # ---- following the database

    def want(self) -> None:
        """Have the maps refreshed: something may have changed."""
        self._wanted.set()

    async def fresh(self) -> None:
        """Wait for a refresh that begins after this call. Raises what it failed with."""
        coming = self._next
        self._wanted.set()
        # Who gives up must not cancel it for all others.
        if (error := await asyncio.shield(coming)) is not None:
            raise error

    async def run(self) -> None:
        """Refresh whenever somebody wants it; half of the time at most."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            coming = self._next
            self._next = asyncio.get_running_loop().create_future()
            # Who asks from here on is served by the next one: this may have read
            # already.
            begun = time.monotonic()
            try:
                refresh = await self.maps.run(self.messages.refresh)
            except Exception as error:
                tell_failure(_LOG, "the maps cannot be refreshed", error)
                coming.set_result(error)
                self._wanted.set()
                await asyncio.sleep(LONGEST_PAUSE)
                continue
            self._spread(refresh)
            # Nothing is awaited from here to the serial: who waited looks at it next.
            coming.set_result(None)
            took = time.monotonic() - begun
            # After a start everybody is at the door: the first reading holds up nobody.
            pause = min(LONGEST_PAUSE, took) if self.serial else 0.0
            is_new, self.serial = refresh.serial != self.serial, refresh.serial
            if is_new:
                self.on_serial()
                _FANOUT.observe(took * 1000)
            await asyncio.sleep(pause)
            if is_new:  # now that those who have to be told are being told
                await self.judge()

    def _spread(self, refresh: Refresh) -> None:
        """Mark the streams that a refresh concerns."""
        now = time.monotonic()
        for peer_id in refresh.deleted:
            if (stream := self.streams.get(peer_id)) is not None:
                stream.end(Ending.REFUSED)
        for peer_id in refresh.chosen_from(self.streams.peer_ids()):
            if (stream := self.streams.get(peer_id)) is not None:
                stream.changed(now)
        # Who reports traffic is in no map, so maps do not tell that it changed.
        told = self.messages.flow_rule.told
        for stream in self.streams:
            if stream.flow is not None and stream.flow != told(stream.peer_id):
                stream.configure(now)

    async def judge(self) -> None:
        """End the streams of peers that may be connected no longer."""
        connected = self.streams.peer_ids()
        if not connected:
            return
        try:
            found = await self.threads.run(standings, connected)
        except Exception as error:
            tell_failure(_LOG, "the peers' standing cannot be read", error)
            return
        for peer_id, standing in found.items():
            stream = self.streams.get(peer_id)
            if stream is not None and not standing.allowed:
                _LOG.info("a peer is disconnected: %s", standing.reason)
                stream.end(Ending.REFUSED)

    def remind(self) -> None:
        """Wake the streams whose credentials are to be renewed."""
        now = time.monotonic()
        for stream in self.streams:
            if stream.config_due <= now:
                stream.wake.set()

    # ---- one peer

    async def open(
        self, envelope: EncryptedMessage, source: str, context: Context
    ) -> Stream:
        """Let a peer in and send its first map; `close` the stream afterwards.

        It is registered before the map is computed, so no change is missed between.
        Envelopes wait closed: in a storm the first peer has its map before the last
        one's request is looked at.
        """
        self.messages.envelopes.refuse_long(envelope)
        async with self._entrance.one() as place:
            opened = self.messages.envelopes.open(envelope, SyncRequest)
            opening = SyncOpening(opened.public_key, opened.message.meta, source)
            session = await self._openings.one(opening)
            facts.update(peer_id=session.peer_id)
            stream = self.streams.open(session, opened.box, context)
            try:
                await self.fresh()
                serial = self.serial
                await self._send(stream, self.messages.first, place)
            # Cancelled, too: clients leave while their map is made.
            except BaseException:
                self.streams.close(stream)
                raise
        stream.delivered(serial)
        return stream

    async def serve(self, stream: Stream) -> None:
        """Send what a stream is to get until it ends."""
        while stream.ending is None:
            now = time.monotonic() + _EARLY
            if stream.config_due <= now:
                stream.config_due = math.inf
                await self._deliver(stream, self.messages.configuration)
            elif stream.map_due <= now:
                # Before it is made: what changes meanwhile makes the map due again.
                stream.map_due = math.inf
                serial = self.serial
                await self._deliver(stream, self.messages.changed)
                stream.sent_at = time.monotonic()
                stream.delivered(serial)
            else:
                stream.wake.clear()
                await stream.wake.wait()
        if stream.ending is Ending.REFUSED:
            await self._deliver(stream, self.messages.closing)

    async def _deliver(self, stream: Stream, make: Make) -> None:
        _QUEUE.observe(1 + (stream.map_due < math.inf) + (stream.config_due < math.inf))
        async with self._turns.one() as place:
            # It may have waited for long: a map made for it now would count as told, and
            # the newer stream of the peer would not get it.
            if stream.ending is not Ending.REPLACED:
                await self._send(stream, make, place)

    async def _send(self, stream: Stream, make: Make, place: Place) -> None:
        """Make a message and write it; a peer that is slow to read holds up nobody."""
        envelope = await self._making.one((stream, make))
        if envelope is None:
            return
        place.leave_soon()
        try:
            await stream.context.write(envelope)
        except (grpc.aio.UsageError, grpc.aio.InternalError) as error:
            # The client has gone: its call is being ended.
            _LOG.debug("a message could not be sent: %s", error)
