"""Places for those who wait, so that they do not take up every thread of a process."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from meshmgmt.core.errors import Unavailable

LOCK_SECONDS: Final = 20
"""How long anybody waits for a lock of the database, whichever it is."""


class Lane:
    """Lets `places` callers wait (and then work) for up to `patience` seconds.

    Who finds them taken may wait only while the lane moves: until `grace` seconds after
    somebody last got a turn. `places` is None for as many as there are.
    """

    def __init__(
        self, *, patience: float, places: int | None = None, grace: float = 0.0
    ) -> None:
        self.patience = patience
        self.places = places
        self.grace = grace
        self._lock = Lock()
        self._turn = Lock()
        self._inside = 0
        self._moved = 0.0

    @contextmanager
    def place(self) -> Iterator[float]:
        """Run a block that waits for its turn and takes it; yields the seconds to wait."""
        with self._lock:
            now = time.monotonic()
            if not self._inside:
                self._moved = now
            self._inside += 1
            crowded = self.places is not None and self._inside > self.places
            left = self._moved + self.grace - now
        try:
            yield max(left, 0.0) if crowded else self.patience
        finally:
            with self._lock:
                self._inside -= 1

    @contextmanager
    def turn(self, busy: str) -> Iterator[None]:
        """Run a block alone. Raises Unavailable(busy) when its turn does not come."""
        with self.place() as patience:
            if not self._turn.acquire(timeout=patience):
                raise Unavailable(busy)
            self.moved()
            try:
                yield
            finally:
                self._turn.release()

    def moved(self) -> None:
        """Note that somebody got a turn."""
        self._moved = time.monotonic()
