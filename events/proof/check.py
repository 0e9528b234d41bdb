"""Checks the whole stored trail against the stored tree, and that against its heads."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from events.audit.rows import DETAIL_COLUMNS
from events.models import AuditEvent, AuditHead, AuditTile
from events.proof import heads, keys, tree
from events.proof.hashing import Peaks, head_fault, root_of
from events.proof.merkle import HEIGHT, WIDTH, hashes_of
from events.proof.verifier import PRUNED, Leaf, Removals, differences

_AT_ONCE: Final = 2000

Watched = Callable[[str, Iterable[Any], int], Iterable[Any]]
"""Wraps the items of the work named, whose number is known (a progress bar)."""


@dataclass
class Report:
    """What was looked at, and each fault with what it is about."""

    events: int = 0
    tree_size: int = 0
    heads: int = 0
    removed_by_retention: int = 0
    not_in_the_tree_yet: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)

    def note(self, kind: str, about: str) -> None:
        self.faults.append({"kind": kind, "about": about})


def check(watched: Watched) -> Report:
    """Read events, tree and heads, and compare them, while all of them grow."""
    newest = heads.newest()  # before the tree, which is ahead of its heads
    reach = tree.extent()
    report = Report(tree_size=reach.size)
    _compare_events(report, reach, watched)
    _compare_heads(report, newest, reach, watched)
    _compare_levels(report, watched)
    return report


def _compare_events(report: Report, reach: tree.Extent, watched: Watched) -> None:
    def counted() -> Iterator[Leaf]:
        for leaf in _events(reach.last_id):
            report.events += 1
            yield leaf

    leaves = watched("events", tree.all_leaves(reach.size), reach.size)
    found = list(differences(leaves, counted()))
    removals = _removals()  # retention tells before it removes
    for kind, number in found:
        if kind == "removed" and number in removals:
            report.removed_by_retention += 1
        else:
            report.note(kind, f"event {number}")
    later = AuditEvent.objects.filter(id__gt=reach.last_id)
    report.not_in_the_tree_yet = later.count()


def _removals() -> Removals:
    removals = Removals()
    for told in AuditEvent.objects.filter(activity_code=PRUNED):
        removals.note({"meta": told.meta})
    return removals


def _events(last: int) -> Iterator[Leaf]:
    """Yield id and leaf of the stored events up to `last`, in order."""
    done = 0
    events = AuditEvent.objects.filter(id__lte=last).order_by("id")
    while found := tree.leaves_of(
        events.filter(id__gt=done).values_list(*DETAIL_COLUMNS)[:_AT_ONCE]
    ):
        yield from found
        done = found[-1][0]


def _compare_heads(
    report: Report, newest: AuditHead | None, reach: tree.Extent, watched: Watched
) -> None:
    """Check each signature, and each root against the leaves before it."""
    public = keys.public_rows()
    waiting = defaultdict(list)
    known = AuditHead.objects.filter(id__lte=newest.pk if newest else 0)
    for head in known.order_by("id").iterator():
        report.heads += 1
        shown = heads.row(head)
        if fault := head_fault(shown, public):
            report.note("head", f"{shown['timestamp']}: {fault}")
        waiting[head.tree_size].append(shown)
    peaks = Peaks()
    for _, leaf in watched("heads", tree.all_leaves(reach.size), reach.size):
        peaks.add(leaf)
        for shown in waiting.pop(peaks.size, ()):
            if shown["root_hash"] != peaks.root().hex():
                report.note("head", f"{shown['timestamp']}: it signs another tree")
    for shown in (head for found in waiting.values() for head in found):
        report.note("head", f"{shown['timestamp']}: it signs more than the tree has")


def _compare_levels(report: Report, watched: Watched) -> None:
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
