"""Connections with an end: to others' servers, which may talk as slowly as they like."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer

Watch = Callable[[socket.socket], None]


class TooLate(TimeoutError):
    """A block was cut; the text says after how long."""


@contextmanager
def cut_after(seconds: float) -> Iterator[Watch]:
    """Yield what is called with each new connection of a block; cut them after a while.

    A socket's own timeout begins anew with every byte: who drips could hold a reader for
    days. A block that was cut ends with TooLate, whatever it came to.
    """
    watched: list[socket.socket] = []
    late = Event()

    def cut() -> None:
        late.set()
        for connection in watched:
            with suppress(OSError):  # nobody is there any more
                connection.shutdown(socket.SHUT_RDWR)

    def watch(connection: socket.socket) -> None:
        # By a descriptor of its own: TLS, from its handshake on, takes over the other.
        watched.append(socket.socket(fileno=os.dup(connection.fileno())))
        if late.is_set():  # it may have come too late for the cut
            cut()

    text = f"took longer than {seconds:.0f} s"
    timer = Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield watch
    except Exception as error:
        # What comes in after the cut is answered by a reset, which is seen here too.
        if not late.is_set():
            raise
        raise TooLate(text) from error
    finally:
        timer.cancel()
        for connection in watched:
            connection.close()
    if late.is_set():  # what was cut looks like an end to who reads
        raise TooLate(text)
