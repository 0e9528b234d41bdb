"""Lanes: one at a time, and a bound on how long the others wait for their turn."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

LOCK_SECONDS: Final = 20
"""How long anybody waits for a lock of the database, whichever it is."""

BUSY: Final = "the database is busy with other writes"

LOOK_SECONDS: Final = 1.0
"""How often those who wait look whether the lane moves."""


def no_sign() -> object:
    """Return what never changes: nobody outside of the process takes turns."""
    return None


class Lane:
    """Gives callers turns; they wait for up to `patience` seconds while the lane moves.

    It moves when somebody gets a turn. Who waits is sent away when nobody got one for
    `grace` seconds, or when `places` callers (None: any number) are in the lane already.
    """

    def __init__(
        self, *, patience: float, grace: float = math.inf, places: int | None = None
    ) -> None:
        self.patience = patience
        self.grace = grace
        self.places = places
        self._lock = Lock()
        self._turn = Lock()
        self._inside = 0
        self._moved = 0.0
        self._sign: object = None

    @contextmanager
    def turn(
        self, busy: Exception, sign: Callable[[], object] = no_sign
    ) -> Iterator[float]:
        """Run a block alone; yields what is left of the patience, in seconds.

        Raises `busy` when the turn does not come. `sign` returns what changes when
        somebody in another process gets a turn at the same thing.
        """
        deadline = time.monotonic() + self.patience
        with self._place(busy):
            self._wait(deadline, busy, sign)
            try:
                self.moved()
                yield max(0.0, deadline - time.monotonic())
            finally:
                self._turn.release()

    def moved(self) -> None:
        """Note that somebody got a turn."""
        self._moved = time.monotonic()

    @contextmanager
    def _place(self, busy: Exception) -> Iterator[None]:
        with self._lock:
            if self.places is not None and self._inside >= self.places:
                raise busy
            # Nobody got a turn in an idle lane for want of callers: that is no fault.
            if not self._inside:
                self.moved()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1

    def _wait(
        self, deadline: float, busy: Exception, sign: Callable[[], object]
    ) -> None:
        while not self._turn.acquire(timeout=_until(deadline)):
            self._look(sign())
            if time.monotonic() >= min(deadline, self._moved + self.grace):
                raise busy

    def _look(self, sign: object) -> None:
        with self._lock:
            if sign != self._sign:
                self._sign = sign
                self.moved()


def _until(deadline: float) -> float:
    # Not below zero: locks refuse such a timeout, and -1 is without end.
    return min(LOOK_SECONDS, max(0.0, deadline - time.monotonic()))
