"""`flow.FlowService`: what peers report about their traffic."""

import asyncio
import contextlib
from typing import Any, Final

from google.protobuf.message import DecodeError

from meshmgmt.control.protocol.flow_pb2 import FlowEvent, FlowEventAck
from meshmgmt.control.protocol.flow_pb2_grpc import FlowServiceServicer
from meshmgmt.control.server.status import Context, metadata_of, rpc
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import flows
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import context as facts

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
