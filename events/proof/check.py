"""Checks the stored trail: events, tree, heads, and what was published of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import merge
from pathlib import Path
from typing import Any, Final, NamedTuple

from django.db import DataError, OperationalError
from django.db.models import QuerySet

from events.activities import Activity
from events.audit.emission import TOLERANCE, goes_back
from events.audit.rows import DETAIL_COLUMNS, detail_rows
from events.instants import render_instant
from events.models import AuditEvent, AuditHead, AuditKey, AuditTile
from events.proof import heads, keys, published, tree
from events.proof.hashing import Peaks, head_fault, leaf_hash, parse_head, root_of
from events.proof.heads import Row
from events.proof.merkle import HEIGHT, WIDTH, hashes_of
from events.proof.verifier import PRUNED, Leaf, Removals, differences
from meshmgmt.core import clock

_KEYS: Final = (Activity.AUDIT_KEY_CREATE, Activity.AUDIT_KEY_ROTATE)

DUE: Final = timedelta(hours=1)
"""By then housekeeping, which looks every minute, has taken an event into the tree."""
_AT_ONCE: Final = 2000
_HEADS_AT_ONCE: Final = 1000

_GARBAGE: Final = (
    *(ValueError, LookupError, TypeError, AttributeError, RecursionError),
    DataError,
)
"""What rows raise that this service does not write."""
_NO_LEAF: Final = b""

Watched = Callable[[str, Iterable[Any], int], Iterable[Any]]
"""Wraps the items of the work named, whose number is known (a progress bar)."""


class _Event(NamedTuple):
    """What is compared of an event; of one that cannot be read its id alone."""

    id: int
    leaf: bytes
    moment: datetime | None
    code: str


@dataclass
class Report:
    """What was looked at, and each fault with what it is about."""

    events: int = 0
    tree_size: int = 0
    heads: int = 0
    published_heads: int = 0
    removed_by_retention: int = 0
    not_in_the_tree_yet: int = 0
    clock_set_back: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)

    def note(self, kind: str, about: str) -> None:
        self.faults.append({"kind": kind, "about": about})


def check(watched: Watched, files: Sequence[Path] = ()) -> Report:
    """Read everything and compare it, while all of it grows; `files` of published heads.

    Raises OSError for a file that cannot be read.
    """
    # Heads and files before the tree: it grows meanwhile, and is never behind them.
    newest = heads.newest()
    shown = [File(path) for path in files]
    reach = tree.extent()
    report = Report(tree_size=reach.size)
    _check_begin(report)
    _check_events(report, reach, watched)
    _check_rest(report, reach, newest)
    _check_heads(report, newest, shown, reach.size, watched)
    _check_levels(report, watched)
    return report


def _check_begin(report: Report) -> None:
    """Check keys against the trail, and that the first head of the first is there."""
    told = AuditEvent.objects.filter(activity_code__in=_KEYS).order_by("id")
    moments = {
        name: _moment_of(pk) for pk, name in list(told.values_list("id", "target_id"))
    }
    stored = dict(AuditKey.objects.values_list("id", "valid_from"))
    # Retention takes the events of old keys with the others; the keys themselves stay.
    pruned = AuditEvent.objects.filter(activity_code=PRUNED).exists()
    for name in {**moments, **stored}:
        if name not in stored or (name not in moments and not pruned):
            report.note("key", f"key {name}")
        elif (moment := moments.get(name)) and abs(stored[name] - moment) > TOLERANCE:
            report.note("key", f"the time since which {name} signs")
    key = AuditKey.objects.order_by("valid_from").first()
    if key is None:
        return
    # Who deletes heads, to sign another past with the same key, deletes this one too.
    begun = AuditHead.objects.filter(key=key, timestamp__lte=key.valid_from + DUE)
    if not begun.exists():
        begin = render_instant(key.valid_from)
        report.note("begin", f"the heads that {key.id} signed since {begin}")


def _check_rest(report: Report, reach: tree.Extent, newest: AuditHead | None) -> None:
    """Count what is behind the tree, which must not stay there."""
    later = AuditEvent.objects.filter(id__gt=reach.last_id)
    report.not_in_the_tree_yet = later.count()
    oldest = _moment_of(later.order_by("id").values_list("id", flat=True).first())
    limit = clock.now() - DUE
    # As long as heads are signed, the tree is only catching up with a long trail.
    if oldest and oldest < limit and (newest is None or newest.timestamp < limit):
        report.note("due", f"since {render_instant(oldest)} events")


def _check_levels(report: Report, watched: Watched) -> None:
    """Check that each hash above the leaves is that of its full tile below."""
    tiles = AuditTile.objects.order_by("level", "number")
    above = {
        (tile.level, tile.number): hashes_of(bytes(tile.hashes))
        for tile in tiles.filter(level__gt=0)
    }
    found = tiles.values_list("level", "number", "hashes").iterator(chunk_size=64)
    for level, number, hashes in watched("tiles", found, tiles.count()):
        nodes = hashes_of(bytes(hashes))
        parent, place = divmod(number, WIDTH)
        known = above.get((level + 1, parent), [])[place : place + 1]
        if known != ([root_of(nodes)] if len(nodes) == WIDTH else []):
            first = number << (HEIGHT * (level + 1))
            report.note("tree", f"level {level + 1} above leaf {first}")


def _check_events(report: Report, reach: tree.Extent, watched: Watched) -> None:
    """Compare the events with the leaves, and the times with the order."""
    times = Times()

    def counted() -> Iterator[Leaf]:
        for number, leaf, moment, code in _events(reach.last_id):
            report.events += 1
            if moment is not None:
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
    told = AuditEvent.objects.filter(activity_code=PRUNED)
    for pk in list(told.values_list("id", flat=True)):
        # One that tells nothing is named by its leaf, which is another.
        with suppress(*_GARBAGE, OperationalError):
            # Retention may have taken it meanwhile.
            for meta in told.filter(pk=pk).values_list("meta", flat=True):
                removals.note({"meta": meta})
    return removals


def _events(last: int) -> Iterator[_Event]:
    """Yield the stored events up to `last`, in order."""
    events = AuditEvent.objects.filter(id__lte=last).order_by("id")
    found = _read(events[:_AT_ONCE])
    while found:
        yield from found
        found = _read(events.filter(id__gt=found[-1].id)[:_AT_ONCE])


def _read(events: QuerySet[AuditEvent]) -> list[_Event]:
    try:
        return _parsed(events)
    except (*_GARBAGE, OperationalError):
        # One by one: what nobody can read must not hide what was done to others.
        ids = list(events.values_list("id", flat=True))
        found = [event for pk in ids for event in _alone(pk)]
    # None is the end: where retention took all of them meanwhile, others may come next.
    return found if found or not ids else _read(events)


def _alone(pk: int) -> list[_Event]:
    """Return an event; none where retention took it meanwhile."""
    try:
        return _parsed(AuditEvent.objects.filter(pk=pk))
    except (*_GARBAGE, OperationalError) as error:
        # How SQLite says that a text is none; all else is a database that is away.
        if isinstance(error, OperationalError) and "decode" not in str(error):
            raise
        return [_Event(pk, _NO_LEAF, None, "")]


def _moment_of(pk: int | None) -> datetime | None:
    """Return the time of an event, None where it has none that can be read."""
    return next((event.moment for event in _alone(pk or 0)), None)


def _parsed(events: QuerySet[AuditEvent]) -> list[_Event]:
    found = list(events.values_list(*DETAIL_COLUMNS))
    return [
        _Event(number, leaf_hash(row), moment, code)
        for row, (number, moment, code, *_) in zip(
            detail_rows(found), found, strict=True
        )
    ]


class File:
    """A file of published heads, as long as it was when it was looked at."""

    def __init__(self, path: Path) -> None:
        """Note how long it is. Raises OSError."""
        self.path = path
        self._length = path.stat().st_size
        self._agreed = ""
        self.contradicting = 0

    def heads(self, report: Report) -> Iterator["Signed"]:
        """Yield the heads in the order of their sizes. Raises OSError."""
        done = size = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                done += len(line)
                if done > self._length:
                    return  # published since; the tree that it is compared with is older
                found = self._parsed(report, number, line)
                if found is None:
                    continue
                if found["tree_size"] < size:
                    report.note(
                        "published", f"{self.path}: line {number} is out of order"
                    )
                    continue
                size = found["tree_size"]
                report.published_heads += 1
                yield Signed(size, found, self)

    def _parsed(self, report: Report, number: int, line: bytes) -> Row | None:
        try:
            return parse_head(line)
        except ValueError:
            if line.endswith(b"\n"):
                report.note("published", f"{self.path}: line {number} is no tree head")
            return None  # the last one is being written, or a crash cut it off

    def judge(self, report: Report, shown: Row, fault: str) -> None:
        """Take what was found of a head; only the first of many contradictions is told."""
        about = published.described(shown)
        if not fault:
            self._agreed = about
            return
        self.contradicting += 1
        if self.contradicting == 1:
            before = f"; what the trail has is {self._agreed}" if self._agreed else ""
            report.note("published", f"{self.path}: {about} {fault}{before}")

    def end(self, report: Report) -> None:
        """Tell how many more there were."""
        if self.contradicting > 1:
            more = self.contradicting - 1
            report.note(
                "published", f"{self.path}: {more} later heads do not fit either"
            )


@dataclass(frozen=True, slots=True)
class Signed:
    """A head to be compared, of the database or of a file."""

    size: int
    shown: Row
    file: File | None = None


def _check_heads(
    report: Report,
    newest: AuditHead | None,
    files: Sequence[File],
    size: int,
    watched: Watched,
) -> None:
    """Check each signature, and each root against the leaves before it."""
    public = keys.public_rows()
    # All by size, so the leaves are gone through once, however many heads there are.
    streams = [_stored(report, newest), *(file.heads(report) for file in files)]
    leaves = iter(watched("heads", tree.all_leaves(size), size))
    peaks = Peaks()
    for signed in merge(*streams, key=lambda head: head.size):
        while peaks.size < signed.size and (leaf := next(leaves, None)):
            peaks.add(leaf[1])
        bad = head_fault(signed.shown, public)
        unfit = _unfit(signed, peaks)
        if signed.file is None:
            for fault in filter(None, (bad, unfit)):
                report.note("head", f"{signed.shown['timestamp']}: {fault}")
        else:
            # With a database that was wiped its keys went too: another tree says more.
            signed.file.judge(report, signed.shown, unfit or bad)
    for file in files:
        file.end(report)


def _stored(report: Report, newest: AuditHead | None) -> Iterator[Signed]:
    """Yield the heads of the database up to the newest one given, by size."""
    known = AuditHead.objects.filter(id__lte=newest.pk if newest else 0)
    for head in known.order_by("tree_size", "id").iterator(chunk_size=_HEADS_AT_ONCE):
        report.heads += 1
        yield Signed(head.tree_size, heads.row(head))


def _unfit(signed: Signed, peaks: Peaks) -> str:
    """Return how a head differs from the tree, "" when it does not."""
    ahead = signed.size > peaks.size
    if not ahead and signed.shown["root_hash"] == peaks.root().hex():
        return ""
    if signed.file is None:
        return "it signs more than the tree has" if ahead else "it signs another tree"
    return published.behind(peaks.size) if ahead else published.ANOTHER
