"""Checks the stored trail: events, tree, heads, and what was published of it."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from events.activities import Activity
from events.audit.clocksteps import TOLERANCE
from events.instants import render_instant
from events.models import AuditEvent, AuditHead, AuditKey, AuditTile
from events.proof import checkheads, heads, tree
from events.proof.checkevents import check_events
from events.proof.hashing import root_of
from events.proof.merkle import HEIGHT, WIDTH, hashes_of
from events.proof.report import Report, Watched
from events.proof.verifier import PRUNED
from meshmgmt.core import clock

_KEYS: Final = (Activity.AUDIT_KEY_CREATE, Activity.AUDIT_KEY_ROTATE)

DUE: Final = timedelta(hours=1)
"""By then housekeeping, which looks every minute, has taken an event into the tree."""


def check(watched: Watched, files: Sequence[Path] = ()) -> Report:
    """Read everything and compare it, while all of it grows; `files` of published heads.

    Raises OSError for a file that cannot be read.
    """
    # Heads and files before the tree: it grows meanwhile, and is never behind them.
    newest = heads.newest()
    published = [checkheads.File(path) for path in files]
    reach = tree.extent()
    report = Report(tree_size=reach.size)
    _check_begin(report)
    check_events(report, reach, watched)
    _check_rest(report, reach, newest)
    checkheads.check_heads(report, newest, published, reach.size, watched)
    _check_levels(report, watched)
    return report


def _check_begin(report: Report) -> None:
    """Check keys against the trail, and that the first head of the first is there."""
    told = AuditEvent.objects.filter(activity_code__in=_KEYS).order_by("id")
    moments = dict(told.values_list("target_id", "timestamp"))
    stored = dict(AuditKey.objects.values_list("id", "valid_from"))
    # Retention takes the events of old keys with the others; the keys themselves stay.
    pruned = AuditEvent.objects.filter(activity_code=PRUNED).exists()
    for name in {**moments, **stored}:
        if name not in stored or (name not in moments and not pruned):
            report.note("key", f"key {name}")
        elif name in moments and abs(stored[name] - moments[name]) > TOLERANCE:
            report.note("key", f"the time since which {name} signs")
    key = AuditKey.objects.order_by("valid_from").first()
    if key is None:
        return
    # Who deletes heads, to sign another past with the same key, deletes this one too.
    begun = AuditHead.objects.filter(key=key, timestamp__lte=key.valid_from + DUE)
    if not begun.exists():
        moment = render_instant(key.valid_from)
        report.note("begin", f"the heads that {key.id} signed since {moment}")


def _check_rest(report: Report, reach: tree.Extent, newest: AuditHead | None) -> None:
    """Count what is behind the tree, which must not stay there."""
    later = AuditEvent.objects.filter(id__gt=reach.last_id)
    report.not_in_the_tree_yet = later.count()
    oldest = later.order_by("id").values_list("timestamp", flat=True).first()
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
