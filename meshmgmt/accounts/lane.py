"""Dear work in few threads at once, so that the others can answer requests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from meshmgmt.core.errors import Unavailable

BUSY: Final = "too many people sign in at this moment: try again in a few seconds"


class Lane:
    """Lets one thread of this process in, and `waiting` more wait `patience` seconds."""

    def __init__(self, *, waiting: int, patience: float) -> None:
        self._room = threading.BoundedSemaphore(1 + waiting)
        self._turn = threading.Lock()
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run a block alone. Raises Unavailable when there is no room or turn to be had."""
        if not self._room.acquire(blocking=False):
            raise Unavailable(BUSY)
        try:
            if not self._turn.acquire(timeout=self._patience):
                raise Unavailable(BUSY)
            try:
                yield
            finally:
                self._turn.release()
        finally:
            self._room.release()
