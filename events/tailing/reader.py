"""Reads one log file from a mark on."""

from collections.abc import Iterator

from events.tailing.lines import (
    HEAD_BYTES,
    TAIL_BYTES,
    Fingerprint,
    Line,
    Mark,
    Splitter,
)
from events.tailing.sources import LogFile


class Reader:
    """The lines of one file, and how far they were taken."""

    def __init__(self, log: LogFile, start: Mark) -> None:
        self.log = log
        self._start = start
        self._splitter = Splitter(start.position, start.number)
        # Kept from the reading: the file may hold something else by the time of a mark.
        self._head = log.part(0, min(start.position, HEAD_BYTES))

    @property
    def position(self) -> int:
        """Where the last line that was taken ends."""
        return self._splitter.end

    @property
    def mark(self) -> Mark:
        """How far the lines were taken."""
        head = Fingerprint.of(self._head[: self.position])
        return Mark(
            self.log.inode, self.position, self._splitter.number, head, self._tail
        )

    @property
    def _tail(self) -> Fingerprint:
        if self.position == self._start.position:
            return self._start.tail
        return Fingerprint.of(self._splitter.last[-TAIL_BYTES:])

    def lines(self) -> Iterator[Line]:
        """Yield the finished lines that are there. Raises SourceFault."""
        self._splitter.forget_unfinished()
        while data := self.log.read_at(self._splitter.seen):
            offset = self._splitter.seen
            if offset < HEAD_BYTES:
                self._head = (self._head[:offset] + data)[:HEAD_BYTES]
            yield from self._splitter.feed(data)

    def unfinished(self) -> Iterator[Line]:
        """Yield the last line if it has no end."""
        if line := self._splitter.unfinished():
            yield line

    def was_cut(self) -> bool:
        """Tell whether what was read is not in the file any more."""
        if self.log.packed:
            return False
        tail = self._tail
        if self.log.state().st_size < self.position:
            return True
        return not tail.fits(self.log.part(self.position - tail.length, tail.length))
