"""Compares signed heads, stored and published ones, with the leaves of the tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from typing import Final

from events.models import AuditHead
from events.proof import heads, keys, published, tree
from events.proof.hashing import Peaks, head_fault, parse_head
from events.proof.heads import Row
from events.proof.report import Report, Watched

_AT_ONCE: Final = 1000


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


def check_heads(
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
    for head in known.order_by("tree_size", "id").iterator(chunk_size=_AT_ONCE):
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
