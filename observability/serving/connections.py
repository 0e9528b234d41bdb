"""Connections of a worker, whose requests are collected without a thread."""

import logging
import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final

from gunicorn.workers.gthread import TConn

from observability.serving.clientsocket import ClientSocket

_LOG: Final = logging.getLogger(__name__)

HEAD_BYTES: Final = 64 * 1024
PREFETCHED_BYTES: Final = 64 * 1024
_LENGTH: Final = re.compile(rb"\r\ncontent-length:([^\r\n]*)", re.IGNORECASE)
_CODING: Final = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_LONGEST_LENGTH: Final = 18


class Arrival(Enum):
    """How much of a request has come."""

    HEAD = auto()
    """Part of its head, or nothing."""
    BODY = auto()
    """The head, and not all of the body."""
    COMPLETE = auto()
    """All that will come: the whole request, or the client sends no more."""
    OVERLONG = auto()
    """More of a head than is read."""
    GONE = auto()
    """Nothing, and nothing will come."""


class Connection(TConn):  # type: ignore[misc]
    """A connection whose requests are collected before a thread looks at them."""

    def __init__(
        self,
        cfg: Any,
        sock: ClientSocket,
        client: Any,
        server: Any,
        linger: Callable[[ClientSocket], None],
    ) -> None:
        super().__init__(cfg, sock, client, server)
        self.data_ready = True  # a thread gets it with data
        self.received = bytearray()
        self.deadline = 0.0
        self.polled = False
        self.uploading = False
        self._linger = linger
        self._head_end = 0
        self._searched = 0

    def expect(self, deadline: float) -> None:
        """Wait for the next request, of which some may have been read already."""
        self.sock.setblocking(False)
        self.deadline = deadline
        self._head_end = self._searched = 0
        if self.parser is not None:
            self.received += self.parser.unreader.take_buffered()

    def collect(self) -> Arrival:
        """Take what has come, without waiting. Raises OSError."""
        ended = False
        while len(self.received) < HEAD_BYTES + PREFETCHED_BYTES:
            try:
                data = self.sock.recv(PREFETCHED_BYTES)
            except BlockingIOError:
                break
            if not data:
                ended = True
                break
            self.received += data
            if len(data) < PREFETCHED_BYTES:
                break
        if ended:
            return Arrival.COMPLETE if self.received else Arrival.GONE
        return self._arrival()

    def _arrival(self) -> Arrival:
        if not self._head_end:
            found = self.received.find(b"\r\n\r\n", max(0, self._searched - 3))
            self._searched = len(self.received)
            if found < 0 and self.received.count(b"\n") != self.received.count(b"\r\n"):
                return Arrival.COMPLETE  # the parser refuses these line ends
            if found < 0:
                overlong = len(self.received) > HEAD_BYTES
                return Arrival.OVERLONG if overlong else Arrival.HEAD
            self._head_end = found + len(b"\r\n\r\n")
        return Arrival.COMPLETE if self._has_body() else Arrival.BODY

    def _has_body(self) -> bool:
        """Tell whether the body is here; the parser decides on what is malformed."""
        head = bytes(self.received[: self._head_end])
        if _CODING.search(head):
            return False
        announced = _LENGTH.search(head)
        if announced is None:
            return True
        text = announced[1].strip(b" \t")
        if not text.isdigit() or len(text) > _LONGEST_LENGTH:
            return False
        return len(self.received) - self._head_end >= int(text)

    @property
    def may_prefetch(self) -> bool:
        """Whether more of the body is taken while the request waits for its turn."""
        return len(self.received) < HEAD_BYTES + PREFETCHED_BYTES

    def hand_over(self) -> None:
        """Give what was collected to the parser; called by the thread."""
        self.init()
        self.parser.unreader.unread(bytes(self.received))
        self.received.clear()
        self.sock.renew()

    def close(self, graceful: bool = False) -> None:
        """Close; after an answer, let the client read it first."""
        if self.sock.stalled:
            _LOG.warning("an answer was cut off: the client read it too slowly")
        if graceful and not self.sock.stalled:
            self._linger(self.sock)
        else:
            super().close()
