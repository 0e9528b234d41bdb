"""What processes of one deployment tell each other: PostgreSQL's LISTEN and NOTIFY.

On SQLite there is one process, and nothing to tell. What is lost while the connection is
down does no lasting harm: maps are polled as well, agents repeat their signals, and the
database fences streams.
"""

import asyncio
import base64
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import psycopg
from django.db import connection

from meshmgmt.control.changes import CHANNEL as CHANGED
from meshmgmt.core.ids import new_id

_SIGNAL: Final = "mesh_signal"
_STREAM: Final = "mesh_stream"
_PART: Final = 7000  # a payload of NOTIFY is shorter than 8000 bytes
_MOST_PARTIAL: Final = 100
_RETRY_SECONDS: Final = 1.0
_LOG: Final = logging.getLogger(__name__)


class Bus:
    """Sends to and hears from the other processes, which may `exist`; `id` is this one."""

    def __init__(self, *, exists: bool | None = None) -> None:
        self.id = new_id()
        self.exists = connection.vendor == "postgresql" if exists is None else exists
        self.listening = False
        self.on_change: Callable[[], None] = lambda: None
        self.on_signal: Callable[[bytes], None]
        self.on_stream: Callable[[str, int], None]
        self._lost = 0
        self._outgoing: asyncio.Queue[tuple[str, str]] = asyncio.Queue(10_000)
        self._partial: OrderedDict[str, dict[int, str]] = OrderedDict()

    def stream_opened(self, peer_id: str, started: int) -> None:
        """Let other processes end an older stream of a peer."""
        self._publish(_STREAM, {"peer": peer_id, "started": started})

    def signal(self, message: bytes) -> None:
        """Have a signal passed on by whoever holds its receiver's stream."""
        text = base64.b64encode(message).decode()
        parts = [text[n : n + _PART] for n in range(0, len(text), _PART)]
        name = new_id()
        for number, part in enumerate(parts):
            piece = {"id": name, "of": len(parts), "n": number, "part": part}
            self._publish(_SIGNAL, piece)

    def _publish(self, channel: str, document: dict[str, Any]) -> None:
        if not self.exists:
            return
        try:
            text = json.dumps({"by": self.id, **document})
            # Never waits: no stream may hang on a connection that is down.
            self._outgoing.put_nowait((channel, text))
        except asyncio.QueueFull:
            if not self._lost:
                _LOG.warning("other processes are not told: too much waits to be sent")
            self._lost += 1

    async def run(self) -> None:
        """Listen and send until cancelled, connecting again whenever that is needed."""
        while True:
            try:
                # A connection that fails ends the other one, which would be left behind.
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._listen())
                    both.create_task(self._send())
            except* psycopg.Error as errors:
                reason = errors.exceptions[0]
                _LOG.warning("other processes cannot be heard: %s", reason)
            finally:
                self.listening = False
            await asyncio.sleep(_RETRY_SECONDS)

    async def _listen(self) -> None:
        async with await _connected() as listener:
            for channel in (CHANGED, _SIGNAL, _STREAM):
                await listener.execute(f"LISTEN {channel}")
            self.listening = True
            self.on_change()  # what was missed before
            async for notice in listener.notifies():
                self._heard(notice.channel, notice.payload)

    async def _send(self) -> None:
        async with await _connected() as sender:
            while True:
                if self._lost and self._outgoing.empty():
                    _LOG.warning("other processes were not told %d times", self._lost)
                    self._lost = 0
                channel, text = await self._outgoing.get()
                await sender.execute("SELECT pg_notify(%s, %s)", (channel, text))

    def _heard(self, channel: str, payload: str) -> None:
        if channel == CHANGED:
            self.on_change()
            return
        document = json.loads(payload)
        # Who listens hears itself.
        if document["by"] == self.id:
            return
        if channel == _STREAM:
            self.on_stream(document["peer"], document["started"])
        elif (text := self._whole(document)) is not None:
            self.on_signal(base64.b64decode(text))

    def _whole(self, piece: dict[str, Any]) -> str | None:
        """Return a signal's text when this was its last missing part."""
        parts = self._partial.setdefault(piece["id"], {})
        parts[piece["n"]] = piece["part"]
        if len(parts) == piece["of"]:
            del self._partial[piece["id"]]
            return "".join(parts[number] for number in range(piece["of"]))
        # Parts may be lost with the connection: the oldest makes room.
        if len(self._partial) > _MOST_PARTIAL:
            self._partial.popitem(last=False)
        return None


async def _connected() -> psycopg.AsyncConnection[Any]:
    values = connection.get_connection_params()
    for ours in ("cursor_factory", "context"):  # of connections that are not async
        values.pop(ours, None)
    return await psycopg.AsyncConnection.connect(**values, autocommit=True)
