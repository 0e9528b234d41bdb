"""`signalexchange.SignalExchange`: passes messages on from one agent to another.

What is in them is sealed between the two; an agent also sends to itself, to see whether
its stream works. A message to a peer that is not connected anywhere is lost, as agents
expect: they send again.
"""

import asyncio
import logging
from typing import Any, Final

from meshmgmt.control.protocol.signalexchange_pb2 import EncryptedMessage
from meshmgmt.control.protocol.signalexchange_pb2_grpc import SignalExchangeServicer
from meshmgmt.control.server.bus import Bus
from meshmgmt.control.server.status import Context, metadata_of, rpc
from meshmgmt.control.services.refusals import Code, Refused

_LOG: Final = logging.getLogger(__name__)
_PEER: Final = "x-wiretrustee-peer-id"
_REGISTERED: Final = (("x-wiretrustee-peer-registered", "1"),)
_MOST_WAITING: Final = 100
_LONGEST: Final = 2**16


class Line:
    """The stream of one agent, and what it is to get."""

    __slots__ = ("over", "queue")

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.queue: asyncio.Queue[EncryptedMessage] = asyncio.Queue(_MOST_WAITING)

    def send(self, message: EncryptedMessage) -> None:
        """Have a message written; it is lost when too many wait already."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            _LOG.debug("a signal was lost: its receiver does not read")

    async def write(self, context: Context) -> None:
        """Write what comes, until cancelled."""
        while True:
            await context.write(await self.queue.get())


class SignalExchange(SignalExchangeServicer):
    """Knows the streams of this process; others are reached by the bus."""

    def __init__(self, bus: Bus) -> None:
        self.lines: dict[str, Line] = {}
        self.bus = bus

    @rpc
    async def Send(
        self, request: EncryptedMessage, context: Context
    ) -> EncryptedMessage:
        await self.forward(request)
        return EncryptedMessage()

    @rpc
    async def ConnectStream(self, requests: Any, context: Context) -> None:
        """Register an agent's stream; an older one ends."""
        key = metadata_of(context).get(_PEER, "")
        if not key:
            raise Refused(Code.INVALID_ARGUMENT, f"the metadata {_PEER} is missing")
        line = Line()
        if (older := self.lines.get(key)) is not None:
            older.over.set()
        self.lines[key] = line
        await context.send_initial_metadata(_REGISTERED)
        work = {
            asyncio.create_task(self._read(requests)),
            asyncio.create_task(line.write(context)),
            asyncio.create_task(line.over.wait()),
        }
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            if self.lines.get(key) is line:
                del self.lines[key]

    async def _read(self, requests: Any) -> None:
        async for message in requests:
            await self.forward(message)

    async def forward(self, message: EncryptedMessage) -> None:
        """Pass a message on to its receiver's stream, here or in another process.

        Raises Refused for one that no agent sends.
        """
        if len(message.body) > _LONGEST:
            raise Refused(Code.INVALID_ARGUMENT, "the message is too long")
        line = self.lines.get(message.remoteKey)
        if line is not None:
            line.send(message)
        else:
            await self.bus.signal(message.SerializeToString())

    async def arrived(self, serialized: bytes) -> None:
        """Pass on what came from another process."""
        message = EncryptedMessage.FromString(serialized)
        if (line := self.lines.get(message.remoteKey)) is not None:
            line.send(message)
