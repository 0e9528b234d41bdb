"""Jobs to peers, and what they answer: one stream for each peer.

That a job waits is a change like any other: it has a serial, which the hub notices. Nearly
all streams are silent for ever, so each has its call's own task and nothing else.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
from nacl.public import Box

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server.envelope import Envelopes, Opened
from meshmgmt.control.server.guests import STRANGER
from meshmgmt.control.server.status import Context, passes, tell_failure
from meshmgmt.control.server.threads import Batches, Threads
from meshmgmt.control.services import jobs
from meshmgmt.control.services.jobs import Order
from meshmgmt.control.services.refusals import Code, Refused

RETRY_SECONDS: Final = 1.0
SENDING_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 0.1
"""Everybody comes back at once after a restart, and each may be waited for."""

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Stream:
    """One open Job stream, in the task of its call; `taken` are the jobs sent by it."""

    peer_id: str
    public_key: str
    box: Box
    context: Context
    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    taken: list[str] = field(default_factory=list)
    ended: bool = False

    def end(self) -> None:
        """Let the call end in order."""
        self.ended = True
        if self.task is not None:
            self.task.cancel()


class Jobs:
    """The Job streams of this process."""

    def __init__(self, envelopes: Envelopes, threads: Threads) -> None:
        self.envelopes = envelopes
        self.threads = threads
        self._streams: dict[str, _Stream] = {}
        self._openings = Batches(threads, jobs.streams_began)
        self._wanted = asyncio.Event()

    def want(self) -> None:
        """Have the jobs looked at that wait: there may be one."""
        self._wanted.set()

    async def run(self) -> None:
        """Hand jobs to the streams of their peers, whenever somebody wants it."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._hand_out()
            except Exception as error:
                tell_failure(_LOG, "jobs of peers cannot be handed out", error)
                self._wanted.set()
                await asyncio.sleep(RETRY_SECONDS)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _hand_out(self) -> None:
        if not self._streams:
            return
        ended: list[str] = []
        for order in await self.threads.run(jobs.take_orders, set(self._streams)):
            stream = self._streams.get(order.peer_id)
            if stream is None:  # it ended just now
                ended.append(order.job_id)
            else:
                await self._send(stream, order)
        # Last: they are taken, and who fails here must not keep the others from peers.
        if ended:
            await self.threads.run(jobs.give_up, ended)

    async def _send(self, stream: _Stream, order: Order) -> None:
        stream.taken.append(order.job_id)
        try:
            # One that takes nothing must not keep the jobs of others.
            async with asyncio.timeout(SENDING_SECONDS):
                await stream.context.write(
                    self.envelopes.seal(stream.box, order.message)
                )
        except TimeoutError:
            _LOG.info("a peer took no job in time", extra={"peer_id": stream.peer_id})
            stream.end()
        except (grpc.aio.UsageError, grpc.aio.InternalError) as error:
            # The client has gone: its call is being ended, and its jobs given up.
            _LOG.debug("a job could not be sent: %s", error)

    def end(self) -> None:
        """End all streams: the process stops."""
        for stream in list(self._streams.values()):
            stream.end()

    # ---- one peer

    async def serve(
        self, opened: Opened[pb.JobRequest], requests: Any, context: Context
    ) -> None:
        """Serve the peer that opened a stream, until it hangs up. Raises Refused."""
        peer_id = await self._openings.one(opened.public_key)
        if not peer_id:  # deleted just now
            raise Refused(Code.UNAUTHENTICATED, STRANGER)
        stream = _Stream(peer_id, opened.public_key, opened.box, context)
        self._register(stream)
        try:
            await self._hear(stream, requests)
        except asyncio.CancelledError:
            if not stream.ended:
                raise
        finally:
            await self._close(stream)

    def _register(self, stream: _Stream) -> None:
        """Let a stream take the place of an older one of the same peer."""
        older = self._streams.get(stream.peer_id)
        self._streams[stream.peer_id] = stream
        if older is not None:
            older.end()
        self.want()

    async def _close(self, stream: _Stream) -> None:
        if self._streams.get(stream.peer_id) is stream:
            del self._streams[stream.peer_id]
        if not stream.taken:
            return
        try:
            await self.threads.run(jobs.give_up, stream.taken)
        except Exception as error:
            # They are given up when the peer comes again, or after a day.
            tell_failure(_LOG, "jobs of a peer cannot be given up", error)

    async def _hear(self, stream: _Stream, requests: Any) -> None:
        """Take what the peer answers, for as long as the call lasts."""
        async for envelope in requests:
            opened = self.envelopes.open(envelope, pb.JobResponse)
            if opened.public_key == stream.public_key:
                await self._store(stream.peer_id, opened.message)
        # It may have done with sending, and takes jobs all the same.
        await asyncio.Event().wait()

    async def _store(self, peer_id: str, answer: pb.JobResponse) -> None:
        """Store an answer, which comes once, however long the database is away."""
        while True:
            try:
                await self.threads.run(jobs.take_answer, peer_id, answer)
            except Exception as error:
                if not passes(error):
                    raise
                tell_failure(_LOG, "the answer of a peer cannot be stored", error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return
