"""Connections that had their last answer: closed once the client has read it.

A socket closed with unread data is reset, and a client that is still sending never sees
why it was refused (RFC 9112, 9.6). What it sends is thrown away, within bounds.
"""

import selectors
import socket
from dataclasses import dataclass
from time import monotonic
from typing import Final

SECONDS: Final = 30.0
MOST: Final = 100
_BYTES: Final = 256 * 1024 * 1024
_BUFFER: Final = 256 * 1024


@dataclass(slots=True)
class _Bounds:
    deadline: float
    bytes_left: int = _BYTES


class Lingering:
    """The half-closed connections of a worker, kept by its poller without a thread."""

    def __init__(self, poller: selectors.BaseSelector) -> None:
        self._poller = poller
        self._open: dict[socket.socket, _Bounds] = {}
        self._buffer = bytearray(_BUFFER)

    def add(self, client: socket.socket) -> None:
        """Tell the client that nothing more is sent, and wait for it to close."""
        try:
            client.shutdown(socket.SHUT_WR)
            client.setblocking(False)
        except OSError:  # gone
            client.close()
            return
        if len(self._open) >= MOST:
            self._close(next(iter(self._open)))
        self._open[client] = _Bounds(monotonic() + SECONDS)
        self._poller.register(client, selectors.EVENT_READ, self._discard)
        self._discard(client)

    def close_expired(self) -> None:
        """Close those whose time is over; they stand in the order of their deadlines."""
        now = monotonic()
        while self._open:
            client, bounds = next(iter(self._open.items()))
            if bounds.deadline > now:
                break
            self._close(client)

    def _discard(self, client: socket.socket) -> None:
        if client not in self._open:  # closed earlier in this round of the poller
            return
        try:
            count = client.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:  # reset: it will not read the answer any more
            count = 0
        bounds = self._open[client]
        bounds.bytes_left -= count
        if not count or bounds.bytes_left <= 0:
            self._close(client)

    def _close(self, client: socket.socket) -> None:
        del self._open[client]
        self._poller.unregister(client)
        client.close()
