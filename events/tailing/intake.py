"""Turns lines into stored events, by the same code as the ingest endpoint."""

import time
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
LONGEST_WAIT: Final = 1.0
"""Seconds after which lines are stored though more keep coming."""

Complain = Callable[[int, str, bytes], None]
"""Gets number, fault and text of a line that is left out."""


@dataclass
class Counts:
    """What became of the lines so far."""

    lines: int = 0
    accepted: int = 0
    duplicates: int = 0
    ignored: int = 0
    bad: int = 0

    def __str__(self) -> str:
        """Return them as a sentence; events the account does not keep if there are."""
        ignored = f", {self.ignored} not kept" if self.ignored else ""
        return (
            f"{self.lines} lines: {self.accepted} stored,"
            f" {self.duplicates} known already{ignored}, {self.bad} wrong"
        )


@dataclass
class _Taken:
    """A checked event that waits to be stored, and the lines that hold it."""

    checked: Any
    lines: list[Line]


@dataclass
class Intake:
    """Collects lines into batches; a bad line is complained about and left out.

    `host` tells the logs of several servers apart: entries that name no host get it, and
    equal lines of two hosts are two events.
    """

    stream: Stream
    parse: LineParser
    complain: Complain
    ids: DerivedIds
    counts: Counts = field(default_factory=Counts)
    host: str = ""
    _taken: dict[str, _Taken] = field(default_factory=dict)
    _clash: _Taken | None = None
    _since: float = 0.0

    @property
    def waiting(self) -> int:
        """How many lines are taken in and not stored yet."""
        return sum(len(taken.lines) for taken in self._taken.values())

    @property
    def due(self) -> bool:
        """Whether to store before the next line is added."""
        if not self._taken:
            return False
        late = time.monotonic() - self._since >= LONGEST_WAIT
        return late or len(self._taken) >= BATCH or self._clash is not None

    def forget(self) -> None:
        """Count equal lines anew: a file begins that was read before."""
        self.ids = DerivedIds()

    def add(self, line: Line) -> None:
        """Take a line in; empty ones count for nothing."""
        if not line.text.strip():
            return
        self.counts.lines += 1
        try:
            self._take(line, clock.now())
        except (LineFault, EventFault) as fault:
            place = getattr(fault, "field", "")
            self._refuse(line, f"{place}: {fault}" if place else str(fault))

    def _take(self, line: Line, now: datetime) -> None:
        event = self.parse(line.text)
        if not event.get("id"):
            event["id"] = self.ids.id_of(self._told_apart(line.text))
        if self.host and not event.get("host"):
            event["host"] = self.host
        checked = self.stream.check(event, now)
        earliest, latest = batches.time_range(self.stream, now)
        batches.check_time(checked.time, earliest, latest, self.stream.time_field)
        self._keep(line, checked)

    def _told_apart(self, text: bytes) -> bytes:
        return b"%s\0%s" % (self.host.encode(), text) if self.host else text

    def _keep(self, line: Line, checked: Any) -> None:
        """Keep an event for the next batch.

        What becomes of an id that comes twice must not depend on where batches end: the
        same event is known already, whatever else it is the store decides.
        """
        identifier = checked.content["id"]
        first = self._taken.get(identifier)
        if first is None:
            if not self._taken:
                self._since = time.monotonic()
            self._taken[identifier] = _Taken(checked, [line])
        elif _is_repetition(checked, first.checked):
            first.lines.append(line)
        else:
            self._clash = _Taken(checked, [line])

    def _refuse(self, line: Line, fault: str) -> None:
        self.counts.bad += 1
        self.complain(line.number, fault, line.text)

    def store(self) -> None:
        """Store what was taken in; an id that clashes is complained about.

        When the database fails nothing is lost: it may be called again.
        """
        while self._taken or self._clash:
            if not self._taken and self._clash:
                self._taken[self._clash.checked.content["id"]] = self._clash
                self._clash = None
            checked = [taken.checked for taken in self._taken.values()]
            try:
                stored = batches.store_checked(self.stream, checked)
            except BatchRefused as refusal:
                self._give_up(self.stream.wanted(checked)[refusal.index], refusal)
                continue
            repeated = self.waiting - len(checked)
            self._taken.clear()
            self.counts.accepted += stored.accepted
            self.counts.duplicates += stored.duplicates + repeated
            self.counts.ignored += stored.ignored

    def _give_up(self, checked: Any, refusal: BatchRefused) -> None:
        fault = refusal.message.partition(".")[2]  # without its index in the batch
        for line in self._taken.pop(checked.content["id"]).lines:
            self._refuse(line, fault)


def _is_repetition(checked: Any, first: Any) -> bool:
    """Tell whether an event with the id of `first` is that event again for certain."""
    if checked.timed and first.timed:
        return bool(checked.time == first.time)
    return not checked.timed and not first.timed
