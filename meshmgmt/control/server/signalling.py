"""`signalexchange.SignalExchange`: passes messages on from one agent to another.

What is in them is sealed between the two; an agent also sends to itself, to see whether
its stream works. A message to a peer that is not connected anywhere is lost, as agents
expect: they send again.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from meshmgmt.control.protocol.signalexchange_pb2 import EncryptedMessage
from meshmgmt.control.protocol.signalexchange_pb2_grpc import SignalExchangeServicer
from meshmgmt.control.server.bus import Bus
from meshmgmt.control.server.guests import Guests, Seats
from meshmgmt.control.server.status import Context, metadata_of, rpc, source_of
from meshmgmt.control.server.tasks import first_of
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services.refusals import Code, Refused

_LOG: Final = logging.getLogger(__name__)
_PEER: Final = "x-wiretrustee-peer-id"
_REGISTERED: Final = (("x-wiretrustee-peer-registered", "1"),)
_MOST_WAITING: Final = 100
_LONGEST: Final = 2**16
_MOST_ASKED: Final = 500
"""Messages whose receivers are being looked up."""


Line = asyncio.Queue[EncryptedMessage]
"""What the stream of one agent is to get."""


class SignalExchange(SignalExchangeServicer):
    """Knows the streams of this process; others are reached by the bus.

    Nobody proves whose stream it is, so none ends another: all of a key get its messages.
    """

    def __init__(self, bus: Bus, threads: Threads) -> None:
        self.lines: dict[str, list[Line]] = {}
        self.bus = bus
        self.guests = Guests(threads)
        self.seats = Seats()
        self._asking: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return sum(map(len, self.lines.values()))

    @rpc
    async def Send(
        self, request: EncryptedMessage, context: Context
    ) -> EncryptedMessage:
        self.forward(request)
        return EncryptedMessage()

    @rpc
    async def ConnectStream(self, requests: Any, context: Context) -> None:
        """Register an agent's stream beside others of its key."""
        named = partial(_named, context)
        key = await self.guests.identified(source_of(context), named)
        with self.seats.one(key), self._line(key) as line:
            await context.send_initial_metadata(_REGISTERED)
            # Either ends it: the client hangs up or sends what it must not, or is gone.
            await first_of(self._read(requests), _write(line, context))

    @contextmanager
    def _line(self, key: str) -> Iterator[Line]:
        line = Line(_MOST_WAITING)
        lines = self.lines.setdefault(key, [])
        lines.append(line)
        try:
            yield line
        finally:
            lines.remove(line)
            if not lines:
                del self.lines[key]

    async def _read(self, requests: Any) -> None:
        async for message in requests:
            self.forward(message)

    def forward(self, message: EncryptedMessage) -> None:
        """Pass a message on to its receiver's streams, here and in other processes.

        Raises Refused for one that no agent sends.
        """
        # All of it: a hundred wait for each stream, with the keys that anybody may name.
        if message.ByteSize() > _LONGEST:
            raise Refused(Code.INVALID_ARGUMENT, "the message is too long")
        self._deliver(message)
        if self.bus.exists and len(self._asking) < _MOST_ASKED:
            # Nobody waits for the database, which may hang.
            task = asyncio.create_task(self._tell_others(message))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _tell_others(self, message: EncryptedMessage) -> None:
        """Pass a message on to the other processes, if its receiver is a peer.

        Anybody may send to anybody: what is for no peer would crowd out the rest.
        """
        try:
            if await self.guests.is_peer(message.remoteKey):
                self.bus.signal(message.SerializeToString())
        except (
            Exception
        ) as error:  # without the database nobody else can be told either
            _LOG.debug("a signal was not passed on: %s", error)

    def arrived(self, serialized: bytes) -> None:
        """Pass on what came from another process."""
        self._deliver(EncryptedMessage.FromString(serialized))

    def _deliver(self, message: EncryptedMessage) -> None:
        for line in self.lines.get(message.remoteKey, ()):
            try:
                line.put_nowait(message)
            except asyncio.QueueFull:
                _LOG.debug("a signal was lost: its receiver does not read")


async def _write(line: Line, context: Context) -> None:
    """Write what comes, until cancelled."""
    while True:
        await context.write(await line.get())


async def _named(context: Context) -> str:
    """Return the key that a stream names. Raises Refused."""
    key = metadata_of(context).get(_PEER, "")
    if not key:
        raise Refused(Code.INVALID_ARGUMENT, f"the metadata {_PEER} is missing")
    return key
