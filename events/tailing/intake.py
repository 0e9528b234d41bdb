"""Turns lines into stored events, by the same code as the ingest endpoint."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from events.lines import LineParser
from events.lines.ndjson import LineFault
from events.streams import batches
from events.streams.catalogue import Stream
from events.streams.faults import BatchRefused, EventFault
from events.streams.identity import DerivedIds
from events.tailing.lines import Line
from meshmgmt.core import clock

BATCH: Final = 5000

Complain = Callable[[int, str, bytes], None]
"""Gets number, fault and text of a line that is left out."""


@dataclass
class Counts:
    """What became of the lines so far."""

    lines: int = 0
    accepted: int = 0
    duplicates: int = 0
    bad: int = 0


@dataclass
class Intake:
    """Collects lines into batches; a bad line is complained about and left out."""

    stream: Stream
    parse: LineParser
    complain: Complain
    ids: DerivedIds
    counts: Counts = field(default_factory=Counts)
    host: str = ""
    _lines: list[Line] = field(default_factory=list)
    _checked: list[Any] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)

    @property
    def full(self) -> bool:
        """Whether it is time to store."""
        return len(self._lines) >= BATCH

    def add(self, line: Line) -> None:
        """Take a line in; empty ones count for nothing."""
        if not line.text.strip():
            return
        self.counts.lines += 1
        try:
            self._take(line, clock.now())
        except (LineFault, EventFault, UnicodeDecodeError) as fault:
            place = getattr(fault, "field", "")
            self._refuse(line, f"{place}: {fault}" if place else str(fault))

    def _take(self, line: Line, now: datetime) -> None:
        event = self.parse(line.text.decode())
        if not event.get("id"):
            event["id"] = self.ids.id_of(line.text)
        if self.host and not event.get("host"):
            event["host"] = self.host
        checked = self.stream.check(event, now)
        earliest, latest = batches.time_range(self.stream, now)
        batches.check_time(checked.time, earliest, latest, self.stream.time_field)
        if checked.content["id"] in self._known:
            raise EventFault("id", "stands twice in this batch")
        self._known.add(checked.content["id"])
        self._lines.append(line)
        self._checked.append(checked)

    def _refuse(self, line: Line, fault: str) -> None:
        self.counts.bad += 1
        self.complain(line.number, fault, line.text)

    def store(self) -> None:
        """Store what was taken in; an id that clashes is complained about."""
        while self._checked:
            try:
                stored = batches.store_checked(self.stream, self._checked)
            except BatchRefused as refusal:
                line = self._lines.pop(refusal.index)
                del self._checked[refusal.index]
                self._refuse(line, refusal.message)
                continue
            self.counts.accepted += stored.accepted
            self.counts.duplicates += stored.duplicates
            break
        self._lines.clear()
        self._checked.clear()
        self._known.clear()
