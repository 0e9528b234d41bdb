"""Lines of a file, with their number and where they end; optionally for ever."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

POLL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; `position` is the offset of the next line."""

    number: int
    text: bytes
    position: int
    inode: int


@dataclass(frozen=True, slots=True)
class Start:
    """Where an earlier run stopped in which file."""

    inode: int = 0
    position: int = 0
    number: int = 0


def read_stream(source: IO[bytes]) -> Iterator[Line]:
    """Yield the lines of a pipe."""
    position = 0
    for number, text in enumerate(source, 1):
        position += len(text)
        yield Line(number, text.rstrip(b"\r\n"), position, 0)


def read_file(
    path: Path, start: Start, *, follow: bool, stopped: Callable[[], bool]
) -> Iterator[Line | None]:
    """Yield the lines from `start` on; None when there is none for now.

    With `follow` waits for more, and goes on with the new file when the log is rotated
    (renamed and made anew, or truncated). A line that is not finished yet waits; without
    `follow` it is the last line.
    """
    while True:
        with path.open("rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            resume = start if start.inode == inode else Start(inode)
            if resume.position > os.fstat(file.fileno()).st_size:
                resume = Start(inode)
            yield from _lines_of(file, resume, path, follow=follow, stopped=stopped)
        if not follow or stopped():
            return
        start = Start()


def _lines_of(
    file: IO[bytes],
    start: Start,
    path: Path,
    *,
    follow: bool,
    stopped: Callable[[], bool],
) -> Iterator[Line | None]:
    file.seek(start.position)
    position, number = start.position, start.number
    while True:
        text = file.readline()
        if text.endswith(b"\n") or (text and not follow):
            position += len(text)
            number += 1
            yield Line(number, text.rstrip(b"\r\n"), position, start.inode)
            continue
        file.seek(position)
        yield None
        if not follow or stopped():
            return
        if _replaced(path, start.inode, position):
            if not text:
                return
            # The old file's last line has no end and will get none any more.
            position += len(text)
            file.seek(position)
            yield Line(number + 1, text, position, start.inode)
            return
        time.sleep(POLL_SECONDS)


def _replaced(path: Path, inode: int, position: int) -> bool:
    """Tell whether the path names another file by now, or the file was truncated."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False  # rotated, and not made anew yet
    return found.st_ino != inode or found.st_size < position
