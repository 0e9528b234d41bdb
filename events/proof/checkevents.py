"""Compares stored events with the leaves of the tree, and times with their order."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from events.activities import Activity
from events.audit.clocksteps import goes_back
from events.audit.rows import DETAIL_COLUMNS, detail_rows
from events.models import AuditEvent
from events.proof import tree
from events.proof.hashing import leaf_hash
from events.proof.report import Report, Watched
from events.proof.verifier import PRUNED, Leaf, Removals, differences

_AT_ONCE: Final = 2000


def check_events(report: Report, reach: tree.Extent, watched: Watched) -> None:
    """Compare the events with the leaves, and the times with the order."""
    times = Times()

    def counted() -> Iterator[Leaf]:
        for number, leaf, moment, code in _events(reach.last_id):
            report.events += 1
            times.add(number, moment, code)
            yield number, leaf

    leaves = watched("events", tree.all_leaves(reach.size), reach.size)
    removals, unexplained = _removals(), []
    for kind, number in differences(leaves, counted()):
        if kind != "removed":
            report.note(kind, f"event {number}")
        elif number in removals:
            report.removed_by_retention += 1
        else:
            unexplained.append(number)
    # Again: retention, which may run meanwhile, tells before it removes.
    removals = _removals()
    gone = [number for number in unexplained if number not in removals]
    report.removed_by_retention += len(unexplained) - len(gone)
    for number in gone:
        report.note("removed", f"event {number}")
    report.clock_set_back = times.told
    for before, number in times.faults:
        report.note("time", f"event {number} is older than event {before} before it")


class Times:
    """Finds events that are older than the one before them, of which nothing is told.

    What the first key comes after is not judged, nor what stands behind a gap that
    retention made: the event that told of the clock may have gone.
    """

    def __init__(self) -> None:
        keys = AuditEvent.objects.filter(activity_code=Activity.AUDIT_KEY_CREATE)
        first = keys.order_by("id").values_list("id", flat=True).first()
        self.told = 0
        self._after = first or 0
        self._before: tuple[int, datetime] | None = None
        self._found: list[tuple[int, int]] = []

    def add(self, number: int, moment: datetime, code: str) -> None:
        before, time_before = self._before or (number, moment)
        if code == Activity.AUDIT_CLOCK_BACK:
            self.told += 1
        elif number > self._after and goes_back(time_before, moment):
            self._found.append((before, number))
        self._before = number, moment

    @property
    def faults(self) -> Iterator[tuple[int, int]]:
        for before, number in self._found:
            # Neighbours in the tree, or what stood between them is gone.
            first, second = tree.index_of(before), tree.index_of(number)
            if first is None or second is None or second - first == 1:
                yield before, number


def _removals() -> Removals:
    removals = Removals()
    for told in AuditEvent.objects.filter(activity_code=PRUNED):
        removals.note({"meta": told.meta})
    return removals


def _events(last: int) -> Iterator[tuple[int, bytes, datetime, str]]:
    """Yield id, leaf, time and code of the stored events up to `last`, in order."""
    events = AuditEvent.objects.filter(id__lte=last).order_by("id")
    found = list(events.values_list(*DETAIL_COLUMNS)[:_AT_ONCE])
    while found:
        for row, (number, moment, code, *_) in zip(
            detail_rows(found), found, strict=True
        ):
            yield number, leaf_hash(row), moment, code
        later = events.filter(id__gt=found[-1][0])
        found = list(later.values_list(*DETAIL_COLUMNS)[:_AT_ONCE])
