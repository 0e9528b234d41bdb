"""Reads a log line by line, through rotations, for as long as it is wanted."""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Final

from events.tailing import rotation
from events.tailing.lines import Line, Mark, Pause
from events.tailing.reader import Reader
from events.tailing.rotation import Found
from events.tailing.sources import LogFile, SourceFault

POLL_SECONDS: Final = 0.2
GRACE_SECONDS: Final = 1.0
"""How long a rotated file must stay as it is before it counts as complete.

A proxy goes on writing to the old file until it is told to open the new one, and its
workers are told one after the other.
"""


class _End(Enum):
    """Why the reading of one file ended."""

    DONE = auto()
    CUT = auto()
    ROTATED = auto()


class _Rest:
    """Watches a file until nobody writes to it any more."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._size = -1
        self._since = 0.0
        self.expect_more()

    def expect_more(self) -> None:
        """Begin anew: the file is still the one that is written to."""
        self._since = time.monotonic()

    def is_over(self, *, superseded: bool) -> bool:
        """Tell whether the file stayed as it is for the time of grace.

        With `superseded` the next one was rotated too, so its own times can be believed.
        """
        state = self._log.state()
        if state.st_size != self._size:
            self._size = state.st_size
            self.expect_more()
        if self._log.packed:
            return True
        if superseded and time.time() - state.st_ctime >= GRACE_SECONDS:
            return True
        return time.monotonic() - self._since >= GRACE_SECONDS


@dataclass
class Reading:
    """One run of reading a log.

    `start` is where an earlier run stopped. `hold` leaves a last line without an end for
    the next run. `say` gets what an operator should know; `again` is called before lines
    that were read before, which are no new events.
    """

    path: Path
    start: Mark | None
    follow: bool
    hold: bool
    stopped: Callable[[], bool]
    say: Callable[[str], None]
    again: Callable[[], None]
    _readers: list[Reader] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)

    def open(self) -> None:
        """Find where to begin. Raises SourceFault."""
        try:
            if self.start is None:
                log = LogFile.open(self.path)
                self._read(Found(log, Mark(log.inode)))
            else:
                self._read(rotation.resume(self.path, self.start))
        except FileNotFoundError as error:
            raise SourceFault(f"there is no file {self.path}") from error
        except OSError as error:
            raise SourceFault(
                f"{self.path} cannot be read: {error.strerror}"
            ) from error
        if self.follow and self._reader.log.packed and self._is_current():
            raise SourceFault(f"{self.path} is compressed, it cannot be followed")

    def close(self) -> None:
        """Close the file that is open."""
        while self._readers:
            self._readers.pop().log.close()

    @property
    def _reader(self) -> Reader:
        return self._readers[-1]

    @property
    def mark(self) -> Mark:
        """How far the lines were taken."""
        return self._reader.mark

    @property
    def progress(self) -> tuple[int, int]:
        """How many bytes of the present file were read, and how many it has."""
        log = self._reader.log
        return log.done(self._reader.position), log.state().st_size

    def __iter__(self) -> Iterator[Line | Pause]:
        """Yield lines, and a pause whenever there is nothing to read for now.

        Raises SourceFault when a file cannot be read any further.
        """
        end = None
        while end is not _End.DONE:
            end = yield from self._one_file()
            if end is _End.CUT:
                end = yield from self._find_again()

    def _read(self, found: Found) -> None:
        if found.loss:
            self._say(found.loss)
        if found.again:
            self._say(f"{self.path} is read again from its beginning")
            self.again()
        self.close()
        self._readers.append(Reader(found.log, found.mark))

    def _one_file(self) -> Generator[Line | Pause, None, _End]:
        reader = self._reader
        rest = _Rest(reader.log)
        while not reader.was_cut():
            yield from reader.lines()
            if self._is_current() or not self._is_there():
                if not self.follow:
                    if not self.hold or reader.log.packed:
                        yield from reader.unfinished()
                    return _End.DONE
                rest.expect_more()
            else:
                found = self._next(rest)
                if found is not None:
                    position = reader.position
                    yield from reader.lines()  # what came since the last look
                    if reader.position == position:
                        yield from reader.unfinished()
                        self._read(found)
                        return _End.ROTATED
                    found.log.close()
                    rest.expect_more()
            yield Pause()
            if self.stopped():
                return _End.DONE
            time.sleep(POLL_SECONDS)
        return _End.CUT

    def _next(self, rest: _Rest) -> Found | None:
        """Return what goes on after the present file once that is complete."""
        found = rotation.successor(self.path, self._reader.log, self.mark)
        if found is None:
            if self._is_there():
                self._unreadable()
            return None
        if rest.is_over(superseded=found.log.path != self.path):
            return found
        found.log.close()
        return None

    def _unreadable(self) -> None:
        """Wait for a new file that may not be read yet, or give up on it."""
        fault = f"{self.path} cannot be read"
        if not self.follow:
            raise SourceFault(fault)
        self._say(f"{fault}: waiting")

    def _find_again(self) -> Generator[Pause, None, _End]:
        """Go on after the file was emptied or overwritten."""
        while True:
            try:
                self._read(rotation.resume(self.path, self.mark))
            except FileNotFoundError:
                yield Pause()
                if self.stopped() or not self.follow:
                    return _End.DONE
                time.sleep(POLL_SECONDS)
            else:
                return _End.CUT

    def _is_current(self) -> bool:
        """Tell whether the path still names the file that is read."""
        try:
            return self.path.stat().st_ino == self._reader.log.inode
        except OSError:
            return False

    def _is_there(self) -> bool:
        try:
            return self.path.exists()
        except OSError:  # it may be, in a folder that may not be looked into
            return True

    def _say(self, text: str) -> None:
        """Tell the operator, each thing once in a row."""
        if text not in self._said:
            self._said = {text}
            self.say(text)
