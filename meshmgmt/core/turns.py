"""Taking turns at writing to one SQLite file.

SQLite lets one writer in at a time; the others ask again and again, ever less often, so
with several at once the file is idle much of the time and the unlucky wait for long. Here
they queue: threads of a process at a lock, processes at lock files beside the database.
One process at a time stands first in the queue, so that a busy process cannot take turn
after turn while another waits. SQLite's own lock still decides; a writer that takes no
turn is safe, only less polite.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from django.db import OperationalError

BUSY: Final = "the database is busy with other writes"
FIRST_SUFFIX: Final = ".first"
_STEP_SECONDS: Final = 0.0002
_threads: Final = Lock()


@contextmanager
def turn(path: str, timeout: float) -> Iterator[None]:
    """Run a block as the only one with a turn at `path`.

    Raises OperationalError when that takes longer than `timeout` seconds, or when no
    file can be made there.
    """
    deadline = time.monotonic() + timeout
    if not _threads.acquire(timeout=timeout):
        raise OperationalError(BUSY)
    try:
        with (
            _locked_file(f"{path}{FIRST_SUFFIX}", deadline) as stand_aside,
            _locked_file(path, deadline),
        ):
            stand_aside()
            yield
    finally:
        _threads.release()


@contextmanager
def _locked_file(path: str, deadline: float) -> Iterator[Callable[[], None]]:
    """Hold the lock on a file; yields what lets go of it before the block ends."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OperationalError(f"{path} cannot be written: {error.strerror}") from error
    try:
        _wait_for_processes(descriptor, deadline)
        yield lambda: fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)  # lets go of the lock, as the end of a process does


def _wait_for_processes(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OperationalError(BUSY) from None
            time.sleep(_STEP_SECONDS)
        else:
            return
