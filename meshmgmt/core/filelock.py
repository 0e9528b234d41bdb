"""Locks on files: they end with whoever holds them, process or descriptor, however it ends.

The one way in which processes of a host keep each other out; no Django.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

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
    with locked(f"{path}{_FIRST_SUFFIX}", wait=wait) as first, ExitStack() as stack:
        left = max(0.0, deadline - time.monotonic())
        taken = stack.enter_context(locked(path, wait=left))
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
