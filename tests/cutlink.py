"""A link to a server that can be cut: nothing comes through, no connection ends."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

PIECE: Final = 65536


class Link:
    """Passes bytes on between a port of its own and a server's, while it is not cut."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ends = [self._listener]
        self._start(self._accept)

    def cut(self) -> None:
        """Hold back whatever is sent from now on."""
        self._whole.clear()

    def mend(self) -> None:
        """Deliver what was held back, and what comes after it."""
        self._whole.set()

    def close(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.mend()

    def _start(self, work: object, *args: object) -> None:
        threading.Thread(target=work, args=args, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                self._start(self._join, near)

    def _join(self, near: socket.socket) -> None:
        self._whole.wait()
        with suppress(OSError):
            far = socket.create_connection(("127.0.0.1", self._to))
            self._ends += [near, far]
            self._start(self._carry, near, far)
            self._start(self._carry, far, near)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                self._whole.wait()
                target.sendall(piece)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def linked(port: int) -> Iterator[Link]:
    """Yield a link to a port of this host."""
    link = Link(port)
    try:
        yield link
    finally:
        link.close()
