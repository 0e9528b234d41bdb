"""Turns lines into stored events, by the same code as the ingest endpoint."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from events.logfiles import LineParser
from events.logfiles.ndjson import LineFault
from events.streams import batches
from events.streams.catalogue import Stream
from events.streams.decoding import one_event
from events.streams.faults import BatchRefused, EventFault
from events.streams.identity import DerivedIds
from meshmgmt.core import clock

BATCH: Final = 5000
LONGEST_WAIT: Final = 1.0
"""Seconds after which lines are stored though more keep coming."""

Complain = Callable[[int, str, bytes], None]
"""Gets number, fault and text of a line that is left out."""


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
