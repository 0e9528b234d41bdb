"""The tree of the audit trail as it is stored: it grows behind the writes.

Ids of events grow in the order of their commits, so what is found behind the last one known
is all there is, and no write waits for the tree.
"""

import struct
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from events.audit.rows import DETAIL_COLUMNS, detail_rows
from events.models import AuditEvent, AuditTile
from events.proof.hashing import leaf_hash
from events.proof.merkle import WIDTH, Tree, extended, hashes_of
from events.proof.verifier import Leaf
from meshmgmt.core.queries import execute
from meshmgmt.core.transactions import queued_write

AT_ONCE: Final = 256
"""Events added in one transaction: SQLite lets nobody else write meanwhile."""

LOCK_KEY: Final = 0x6D657374
"""Any fixed number that nothing else in the database locks."""

_TILES_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the stored tree goes."""

    size: int
    last_id: int


def extent() -> Extent:
    tiles = AuditTile.objects.filter(level=0).order_by("-number")
    last = tiles.values_list("number", "event_ids").first()
    if last is None:
        return Extent(0, 0)
    ids = unpacked(last[1])
    return Extent(last[0] * WIDTH + len(ids), ids[-1])


def grow(seconds: float) -> None:
    """Add the events that are not in the tree, for as long as that."""
    deadline = time.monotonic() + seconds
    while grow_once() and time.monotonic() < deadline:
        pass


def grow_once() -> bool:
    """Add the next events; tell whether there may be more."""
    known = extent()
    events = AuditEvent.objects.filter(id__gt=known.last_id).order_by("id")
    leaves = leaves_of(events.values_list(*DETAIL_COLUMNS)[:AT_ONCE])
    # Hashed before the lock: on SQLite it keeps every other writer out.
    if leaves:
        tiles = _changed(known, leaves)
        with exclusive():
            if extent() == known:  # nobody was faster
                _store(tiles)
    return len(leaves) == AT_ONCE


def leaves_of(found: Any) -> list[Leaf]:
    """Return id and leaf of tuples in the order of DETAIL_COLUMNS."""
    return [(int(row["id"]), leaf_hash(row)) for row in detail_rows(found)]


@contextmanager
def exclusive() -> Iterator[None]:
    """Run a block as a transaction that alone adds to the tree."""
    with queued_write():
        if connection.vendor == "postgresql":
            execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
        yield


def tree_at(size: int) -> Tree:
    """Return the tree when it had this size, which it must have reached."""
    tiles: dict[tuple[int, int], bytes] = {}

    def load(level: int, number: int) -> bytes:
        if (level, number) not in tiles:
            tiles[level, number] = _hashes(level, number)
        return tiles[level, number]

    return Tree(size, load)


def index_of(event_id: int) -> int | None:
    """Return the place of an event among the leaves, None when it has none."""
    # Ids grow with the places, so the last tile that begins before it has it, or none.
    tiles = AuditTile.objects.filter(first_event_id__lte=event_id)
    found = tiles.order_by("-first_event_id").values_list("number", "event_ids").first()
    if found is None:
        return None
    ids = unpacked(found[1])
    place = bisect_left(ids, event_id)
    if place == len(ids) or ids[place] != event_id:
        return None
    return int(found[0]) * WIDTH + place


def all_leaves(size: int) -> Iterator[Leaf]:
    """Yield id and leaf of the first events, those that are removed too."""
    number = done = 0
    while done < size:
        tiles = AuditTile.objects.filter(level=0, number__gte=number).order_by("number")
        found = list(tiles.values_list("event_ids", "hashes")[:_TILES_AT_ONCE])
        if not found:
            return
        for ids, hashes in found:
            pairs = list(zip(unpacked(ids), hashes_of(bytes(hashes)), strict=True))
            yield from pairs[: size - done]
            done += len(pairs)
        number += len(found)


def unpacked(ids: bytes | memoryview) -> tuple[int, ...]:
    return struct.unpack(f">{len(ids) // 8}q", ids)


def _hashes(level: int, number: int) -> bytes:
    tile = AuditTile.objects.values_list("hashes").get(level=level, number=number)
    return bytes(tile[0])


def _changed(known: Extent, leaves: list[Leaf]) -> list[AuditTile]:
    """Return the tiles that change when leaves are added, with all they hold then."""
    hashes = [leaf for _, leaf in leaves]
    begun = known.size // WIDTH * WIDTH
    ids = b""
    if known.size > begun:
        ids = bytes(AuditTile.objects.get(level=0, number=begun // WIDTH).event_ids)
    ids += struct.pack(f">{len(leaves)}q", *(number for number, _ in leaves))
    return [
        _tile(level, number, tile, ids, begun)
        for level, number, tile in extended(known.size, hashes, _hashes)
    ]


def _store(tiles: list[AuditTile]) -> None:
    # The tile at the right edge is there already, and grows.
    AuditTile.objects.bulk_create(
        tiles,
        update_conflicts=True,
        unique_fields=["level", "number"],
        update_fields=["hashes", "event_ids"],
    )


def _tile(level: int, number: int, hashes: bytes, ids: bytes, begun: int) -> AuditTile:
    """Return a tile; `ids` are those of the leaves from `begun` on."""
    tile = AuditTile(level=level, number=number, hashes=hashes)
    if level == 0:
        start = (number * WIDTH - begun) * 8
        tile.event_ids = ids[start : start + WIDTH * 8]
        [tile.first_event_id] = struct.unpack_from(">q", tile.event_ids)
    return tile
