"""Waiting for one's turn: locks between processes of a host, lanes between threads.

Locks are on files, and end with whoever holds them, process or descriptor, however it ends.
A lane bounds how long the others wait for theirs. No Django.
"""

import fcntl
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Final

LOCK_SECONDS: Final = 20
"""How long anybody waits for a lock of the database, whichever it is."""

BUSY: Final = "the database is busy with other writes"

LOOK_SECONDS: Final = 1.0
"""How often those who wait look whether the lane moves."""
_STEP_SECONDS: Final = 0.0002
_FIRST_SUFFIX: Final = ".first"


class Locked(Exception):
    """Somebody else holds the lock."""


def lock(file: int | IO[bytes] | IO[str]) -> None:
    """Lock an open file until it is closed, for which it waits as long as it takes."""
    fcntl.flock(file, fcntl.LOCK_EX)


def open_locked(
    path: Path | str, *, wait: float | None = None, shared: bool = False
) -> int:
    """Return the descriptor of a locked file, which is made when it is missing.

    Those who ask for a `shared` lock keep only the others out. Raises Locked, OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, wait)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def locked(
    path: Path | str, *, wait: float | None = None, shared: bool = False
) -> Iterator[int]:
    """Run a block holding the lock that `open_locked` takes; yields its descriptor."""
    descriptor = open_locked(path, wait=wait, shared=shared)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def queued(path: str, wait: float) -> Iterator[None]:
    """Run a block holding the lock on a file, which others get before one has it again.

    Whoever waits for it stands first at a second file, one at a time. Raises Locked when
    that takes longer than `wait` seconds, OSError.
    """
    deadline = time.monotonic() + wait
    with locked(f"{path}{_FIRST_SUFFIX}", wait=wait) as first:
        left = max(0.0, deadline - time.monotonic())
        with locked(path, wait=left) as taken:
            # The next one may come to stand first.
            fcntl.flock(first, fcntl.LOCK_UN)
            # Those who wait in other processes see by this that the queue moves.
            os.utime(taken)
            yield


def last_taken(path: str) -> object:
    """Return what changes whenever a process gets the lock of `queued`."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - a text, as the database has it
    except FileNotFoundError:
        return None


def is_locked(path: Path) -> bool:
    """Tell whether somebody holds the lock on a file."""
    try:
        # Not made if it is missing; a shared lock disturbs nobody who asks the same.
        with path.open("rb") as file:
            _lock(file, fcntl.LOCK_SH, 0.0)
    except Locked:
        return True
    except FileNotFoundError:
        pass
    return False


def _lock(file: int | IO[bytes] | IO[str], mode: int, wait: float | None) -> None:
    if wait is None:
        fcntl.flock(file, mode)
        return
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Locked from None
            # A blocking flock knows no deadline but by signals.
            time.sleep(_STEP_SECONDS)
        else:
            return


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
