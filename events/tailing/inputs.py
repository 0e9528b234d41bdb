"""What a command line names as a log: a file, a pipe, or neither."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from events.tailing.sources import SourceFault

STANDARD_INPUT: Final = "-"


def is_pipe(name: str) -> bool:
    """Tell whether `name` is read as a pipe: no position, read once, to its end.

    Raises SourceFault for a folder.
    """
    if name == STANDARD_INPUT:
        return True
    try:
        mode = Path(name).stat().st_mode
    except FileNotFoundError:
        return False  # perhaps rotated away: the reading looks for it
    except OSError as error:
        raise SourceFault(f"{name} cannot be read: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise SourceFault(f"{name} is a folder, not a log")
    return not stat.S_ISREG(mode)


@contextmanager
def open_pipe(name: str) -> Iterator[int]:
    """Yield a descriptor to read from. Raises SourceFault."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise SourceFault("standard input is closed")
        yield sys.stdin.fileno()
        return
    try:
        # Opening a FIFO would else wait for its writer, deaf to signals.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SourceFault(f"{name} cannot be read: {error.strerror}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)
