"""Reads a log once, to its end, and turns lines into stored events.

A log is a file, a compressed one, or a pipe; lines are stored by the same code as batches
of the ingest endpoint.
"""

import select
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import zstandard

from events.logfiles.fields import LineFault
from events.logfiles.parsers import LineParser
from events.streams import batches
from events.streams.batches import DerivedIds
from events.streams.catalogue import Stream
from events.streams.decoding import one_event
from events.streams.faults import BatchRefused, EventFault
from meshmgmt.core import clock

STANDARD_INPUT: Final = "-"
MAX_LINE: Final = 2**20
"""Of a longer line the middle is dropped, so that a file without line ends fits memory."""

_CHUNK: Final = 2**16
_IDLE_SECONDS: Final = 1.0
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW: Final = 31
_BOM: Final = b"\xef\xbb\xbf"
BATCH: Final = 5000
LONGEST_WAIT: Final = 1.0
"""Seconds after which lines are stored though more keep coming."""

Complain = Callable[[int, str, bytes], None]
"""Gets number, fault and text of a line that is left out."""


class LogFault(Exception):
    """A log that cannot be read, or not any further; says why."""


@contextmanager
def open_log(name: str) -> Iterator[Any]:
    """Yield a buffered binary file. Raises LogFault."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise LogFault("standard input is closed")
        yield sys.stdin.buffer
        return
    try:
        file = open(name, "rb")  # noqa: SIM115, PTH123 - closed below; errors are ours
    except OSError as error:
        raise LogFault(f"{name} cannot be read: {error.strerror}") from error
    with file:
        yield file


def lines(file: Any) -> Iterator[bytes | None]:
    """Yield lines without their ends; None when a pipe was silent for a second.

    Raises LogFault.
    """
    rest = b""
    for piece in _pieces(file):
        if not piece:
            yield None
            continue
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        rest = rest[:MAX_LINE]
    if rest:
        yield rest


def _pieces(file: Any) -> Iterator[bytes]:
    """Yield what can be read, nothing while a pipe is silent."""
    start = file.peek(len(_ZSTD))
    if start.startswith(_GZIP):
        yield from _unpacked(file, lambda: zlib.decompressobj(_GZIP_WINDOW))
    elif start.startswith(_ZSTD):
        yield from _unpacked(file, zstandard.ZstdDecompressor().decompressobj)
    else:
        # First what peek() took from the pipe, where select() does not see it.
        yield file.read1(_CHUNK).removeprefix(_BOM)
        while True:
            while not select.select([file], [], [], _IDLE_SECONDS)[0]:
                yield b""
            if not (piece := file.read1(_CHUNK)):
                return
            yield piece


def _unpacked(file: Any, new_engine: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content; gzip members and zstd frames may follow one another."""
    engine = None
    packed = file.read1(_CHUNK)
    while packed:
        engine = engine or new_engine()
        try:
            yield engine.decompress(packed)
        except (zlib.error, zstandard.ZstdError) as error:
            raise LogFault(f"the log is damaged: {error}") from error
        packed = b""
        if engine.eof:
            # Archives are padded with zeros, which gzip(1) ignores, too.
            packed, engine = engine.unused_data.lstrip(b"\0"), None
        packed = packed or file.read1(_CHUNK)
    if engine is not None:
        raise LogFault("the log is damaged: it ends too early")


@dataclass
class Counts:
    lines: int = 0
    accepted: int = 0
    duplicates: int = 0
    ignored: int = 0
    bad: int = 0

    def __str__(self) -> str:
        ignored = f", {self.ignored} not kept" if self.ignored else ""
        return (
            f"{self.lines} lines: {self.accepted} stored,"
            f" {self.duplicates} known already{ignored}, {self.bad} wrong"
        )


@dataclass
class Intake:
    """Collects lines into batches; a bad line is complained about and left out.

    `host` tells the logs of several servers apart: entries that name no host get it, and
    equal lines of two hosts are two events.
    """

    stream: Stream
    parse: LineParser
    complain: Complain
    host: str = ""
    counts: Counts = field(default_factory=Counts)
    _ids: DerivedIds = field(default_factory=DerivedIds)
    # By id: the checked event, and number and text of its line.
    _waiting: dict[str, tuple[Any, int, bytes]] = field(default_factory=dict)
    _since: float = 0.0
    _number: int = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def due(self) -> bool:
        """Whether to store before the next line is added."""
        late = time.monotonic() - self._since >= LONGEST_WAIT
        return bool(self._waiting) and (late or self.waiting >= BATCH)

    def add(self, line: bytes) -> None:
        """Take a line in; empty ones count for nothing. May store what waits."""
        self._number += 1
        # Ids are made of the text, which must not depend on who wrote its end.
        text = line.rstrip(b"\r")
        if not text.strip():
            return
        self.counts.lines += 1
        try:
            checked = self._checked(text)
        except (LineFault, EventFault) as fault:
            place = getattr(fault, "field", "")
            self._refuse(
                self._number, f"{place}: {fault}" if place else str(fault), text
            )
            return
        identifier = checked.content.id
        if identifier in self._waiting:
            # Whether it is the same event is the store's to say.
            self.store()
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting[identifier] = (checked, self._number, text)

    def _checked(self, text: bytes) -> Any:
        event = self.parse(text)
        if not event.get("id"):
            apart = b"%s\0%s" % (self.host.encode(), text) if self.host else text
            event["id"] = self._ids.id_of(apart)
        if self.host and not event.get("host"):
            event["host"] = self.host
        # For each line: a pipe may be read for days.
        now = clock.now()
        content = one_event(self.stream.kind, event)
        kept = batches.time_range(self.stream, now)
        return batches.check_event(self.stream, content, now, kept)

    def _refuse(self, number: int, fault: str, text: bytes) -> None:
        self.counts.bad += 1
        self.complain(number, fault, text)

    def store(self) -> None:
        """Store what was taken in; an id that clashes is complained about.

        When the database fails nothing is lost: it may be called again.
        """
        while self._waiting:
            checked = [event for event, _, _ in self._waiting.values()]
            try:
                stored = batches.store_checked(self.stream, checked)
            except BatchRefused as refusal:
                clash = checked[refusal.index].content.id
                _, number, text = self._waiting.pop(clash)
                # Without its index in the batch.
                self._refuse(number, refusal.message.partition(".")[2], text)
                continue
            self._waiting.clear()
            self.counts.accepted += stored.accepted
            self.counts.duplicates += stored.duplicates
            self.counts.ignored += stored.ignored
