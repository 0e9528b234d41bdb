"""What is reported: traffic by peers (`flow.FlowService`), access logs by reverse proxies
(`management.ProxyService`).
"""

import asyncio
import contextlib
from typing import Any, Final

from google.protobuf.message import DecodeError

from meshmgmt.api.limits import Limiter
from meshmgmt.control.protocol import proxy_pb2 as pb
from meshmgmt.control.protocol.flow_pb2 import FlowEvent, FlowEventAck
from meshmgmt.control.protocol.flow_pb2_grpc import FlowServiceServicer
from meshmgmt.control.protocol.proxy_pb2_grpc import ProxyServiceServicer
from meshmgmt.control.server.status import Context, metadata_of, rpc, source_of
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import flows, proxies
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import context as facts
from meshmgmt.core.addresses import site
from meshmgmt.core.slidingwindow import Limit

WRONG_TOKENS: Final = Limit(count=5, seconds=60)
"""Of one address, over all processes and hosts."""

_BATCH: Final = 500
_LONGEST: Final = 2**14
"""Bytes of an event; real ones have a few hundred, and two batches are in memory."""


class FlowService(FlowServiceServicer):
    """Stores what has come meanwhile in one transaction, then acknowledges it."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads

    @rpc
    async def Events(self, requests: Any, context: Context) -> None:
        """Acknowledge each event once it is committed, never before.

        Agents send nothing until the header has come.
        """
        said = metadata_of(context).get("authorization", "")
        peer_id = await self.threads.run(flows.check_flow_token, said)
        facts.update(peer_id=peer_id)
        await context.send_initial_metadata(())
        queue: asyncio.Queue[FlowEvent | None] = asyncio.Queue(_BATCH)
        reading = asyncio.create_task(_read(requests, queue))
        try:
            while batch := await _batch(queue):
                for event_id in await self.threads.run(
                    flows.store_flows, peer_id, batch
                ):
                    await context.write(FlowEventAck(event_id=event_id))
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading


async def _read(requests: Any, queue: "asyncio.Queue[FlowEvent | None]") -> None:
    """Take in events; a full queue makes the agent wait."""
    try:
        async for event in requests:
            if event.ByteSize() > _LONGEST:
                raise Refused(Code.INVALID_ARGUMENT, "the event is too long")
            if not event.isInitiator:
                await queue.put(event)
    # What came before is stored all the same.
    except (DecodeError, Refused):
        await queue.put(None)
        raise
    await queue.put(None)


async def _batch(queue: "asyncio.Queue[FlowEvent | None]") -> list[FlowEvent]:
    """Return what has come, at least one event; nothing at the end of the stream."""
    batch: list[FlowEvent] = []
    event = await queue.get()
    while event is not None:
        batch.append(event)
        if queue.empty() or len(batch) >= _BATCH:
            return batch
        event = queue.get_nowait()
    if batch:
        # Put back, so that the next call finds the end.
        queue.put_nowait(None)
    return batch


class ProxyService(ProxyServiceServicer):
    """Every call brings a token; an address with too many wrong ones must wait.

    There are no mappings to give out: a proxy is told so once, and then hears nothing.
    """

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.wrong_tokens = Limiter(WRONG_TOKENS, workers=1)

    @rpc
    async def SendAccessLog(
        self, request: pb.SendAccessLogRequest, context: Context
    ) -> pb.SendAccessLogResponse:
        """Store one entry; it is committed when this returns."""
        await self._admit(context)
        await self.threads.run(proxies.store_proxy_log, request.log)
        return pb.SendAccessLogResponse()

    @rpc
    async def SyncMappings(self, requests: Any, context: Context) -> None:
        """Say that there are no mappings."""
        await self._admit(context)
        async for request in requests:
            if request.HasField("init"):
                done = pb.SyncMappingsResponse(initial_sync_complete=True)
                await context.write(done)

    @rpc
    async def GetMappingUpdate(
        self, request: pb.GetMappingUpdateRequest, context: Context
    ) -> None:
        """Say that there are no mappings, and stay open."""
        await self._admit(context)
        await context.write(pb.GetMappingUpdateResponse(initial_sync_complete=True))
        # Ended, a proxy would ask again at once.
        await asyncio.Event().wait()

    async def _admit(self, context: Context) -> None:
        tries = f"proxy token {site(source_of(context))}"
        too_many = Refused(Code.RESOURCE_EXHAUSTED, "too many wrong tokens: try later")
        # In memory: most have shown none, and need no query for that.
        if self.wrong_tokens.wait(tries):
            raise too_many
        said = metadata_of(context).get("authorization", "")
        try:
            await self.threads.run(proxies.check_proxy_token, said)
        except Refused:
            if await self.threads.run(self.wrong_tokens.take, tries):
                raise too_many from None
            raise
