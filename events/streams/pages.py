"""Pages and exports of the big streams, made of the JSON texts rendered at arrival.

A page may hold 50,000 events of a kilobyte each, so no event is parsed or built anew: the
database hands out the stored texts and they are joined (docs/decisions has the
measurements). Offsets are turned into positions: an index-only scan finds the last row
before a page, from whichever end is nearer, and the page is read from there on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, Final

import msgspec
import orjson
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet, Sum
from msgspec import Struct
from msgspec.inspect import is_struct_type
from msgspec.structs import fields

from events.instants import parse_instant
from events.keyset import Place
from events.streams.catalogue import Stream
from meshmgmt.api.exports import csv_lines

EXACT_TOTAL: Final = 1_000_000
"""Totals are exact up to here."""

_SCAN_WHOLE: Final = 3 * EXACT_TOTAL
"""Up to this size counting everything in parallel beats stopping at the bound."""

_SHALLOW: Final = 1000
"""Up to this offset rows are skipped one by one."""

_PIECE_ROWS: Final = 1000

FEW: Final = 1000
"""So many of the events a search finds are read before any are counted."""

# With these, COPY's CSV format never quotes or escapes: JSON text holds neither control
# characters nor line ends.
_RAW_CSV: Final = "(FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')"


@dataclass(frozen=True, slots=True)
class Page:
    """One page: `pieces` joined by commas are its events; `exact` tells of `total`."""

    pieces: list[bytes]
    total: int
    exact: bool


def newest(stream: Stream, matching: QuerySet[Any]) -> list[bytes]:
    """Read the newest `FEW` events of a search, newest first, and one more if there is.

    Finding them costs as much as counting them: most searches find few and need no count.
    """
    ordered = matching.order_by(f"-{stream.time_field}", "-id")
    return list(texts(ordered.values_list("body")[: FEW + 1]))


def everything(stream: Stream) -> int:
    return tallied(stream.tally_model._default_manager.all())


def tallied(tallies: QuerySet[Any]) -> int:
    total: int | None = tallies.aggregate(total=Sum("rows"))["total"]
    return total or 0


def bounded_count(stream: Stream, matching: QuerySet[Any]) -> tuple[int, bool]:
    """Return the number of matching rows up to the bound, and whether it is exact."""
    unordered = matching.order_by()
    if everything(stream) <= _SCAN_WHOLE:
        count = unordered.count()
    else:
        count = unordered.values("id")[: EXACT_TOTAL + 1].count()
    return min(count, EXACT_TOTAL), count <= EXACT_TOTAL


def newest_first(
    stream: Stream,
    matching: QuerySet[Any],
    offset: int,
    size: int,
    *,
    total: int | None,
) -> list[bytes]:
    """Return `size` events from `offset` on, by time and id, newest first.

    `total` is the number of matching rows, None where it is not known exactly.
    """
    time = stream.time_field
    ordered = matching.order_by(f"-{time}", "-id")
    if offset > _SHALLOW:
        before = _position(stream, matching, offset - 1, total)
        if before is None:
            return []
        ordered, offset = ordered.filter(before.beyond(time)), 0
    return _pieces(ordered.values_list("body")[offset : offset + size])


def _position(
    stream: Stream, matching: QuerySet[Any], offset: int, total: int | None
) -> Place | None:
    """Return the place of the row at `offset`, walking from the nearer end."""
    time = stream.time_field
    order, place = (f"-{time}", "-id"), offset
    from_end = -1 if total is None else total - 1 - offset
    if 0 <= from_end < offset:
        order, place = (time, "id"), from_end
    rows = matching.order_by(*order).values_list(time, "id")
    return next((Place(*row) for row in rows[place : place + 1]), None)


def sorted_by(
    matching: QuerySet[Any],
    columns: list[str],
    offset: int,
    size: int,
    *,
    total: int | None,
) -> list[bytes]:
    """Return `size` events from `offset` on in the order of `columns`.

    The order is found on narrow rows first: sorting would else carry every body along.
    From the middle on it is found backwards, which lets fewer rows be sorted.
    """
    from_end = -1 if total is None else max(total - offset - size, 0)
    if 0 <= from_end < offset:
        length = min(size, (total or 0) - offset)
        rows = matching.order_by(*map(_opposite, columns))
        found = rows.values_list("id", flat=True)[from_end : from_end + length]
        ids = list(found)[::-1]
    else:
        rows = matching.order_by(*columns)
        ids = list(rows.values_list("id", flat=True)[offset : offset + size])
    bodies = dict(
        matching.model._default_manager.filter(id__in=ids).values_list("id", "body")
    )
    return [bodies[identifier].encode() for identifier in ids if identifier in bodies]


def _opposite(column: str) -> str:
    return column.removeprefix("-") if column.startswith("-") else f"-{column}"


def _pieces(bodies: QuerySet[Any]) -> list[bytes]:
    rows = texts(bodies)
    pieces: list[bytes] = []
    while piece := b",".join(islice(rows, _PIECE_ROWS)):
        pieces.append(piece)
    return pieces


def texts(bodies: QuerySet[Any]) -> Iterator[bytes]:
    """Yield what a query of bodies alone gives, undecoded, in its order."""
    try:
        sql, params = bodies.query.sql_with_params()
    except EmptyResultSet:  # a filter that nothing can match
        return
    read = _copied if connection.vendor == "postgresql" else _fetched
    yield from read(sql, params)


def _copied(sql: str, params: tuple[Any, ...]) -> Iterator[bytes]:
    statement = f"COPY ({sql}) TO STDOUT {_RAW_CSV}"
    # Django knows no COPY: psycopg's own cursor does it, and its errors are wrapped here.
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.cursor.copy(statement, params) as copy,
    ):
        for row in copy:
            yield bytes(row[:-1])


def _fetched(sql: str, params: tuple[Any, ...]) -> Iterator[bytes]:
    with connection.cursor() as cursor:
        # Texts as SQLite stores them: decoding and encoding 50,000 is time for nothing.
        connection.connection.text_factory = bytes
        try:
            cursor.execute(sql, params)
            while rows := cursor.fetchmany(_PIECE_ROWS):
                for (text,) in rows:
                    yield text
        finally:
            connection.connection.text_factory = str


def ndjson_pieces(texts: Iterable[list[bytes]]) -> Iterator[bytes]:
    """Yield stored texts, newest first, a line each."""
    for chunk in texts:
        if chunk:
            yield b"\n".join((*chunk, b""))


def csv_pieces(stream: Stream, texts: Iterable[list[bytes]]) -> Iterator[bytes]:
    paths = list(columns(stream.kind))
    # A type of its own reads an event in half the time that dictionaries take.
    read = msgspec.json.Decoder(_shape(stream.kind)).decode
    cells = attrgetter(*map(".".join, paths))
    rows = (cells(read(text)) for chunk in texts for text in chunk)
    return csv_lines(list(map("_".join, paths)), rows)


def every_text(
    stream: Stream, matching: QuerySet[Any], after: Place | None = None
) -> Iterator[list[bytes]]:
    """Yield the texts of matching events, newest first, in lists of bounded size.

    They begin with the newest, or behind the place `after`. Each list is read by a query
    of its own, so that a slow reader holds no cursor open; its last text tells the next's
    place.
    """
    time = stream.time_field
    ordered = matching.order_by(f"-{time}", "-id").values_list("body")
    wanted = ordered.filter(after.beyond(time)) if after else ordered
    while found := list(texts(wanted[:_PIECE_ROWS])):
        yield found
        # The queries give texts alone, which COPY hands out as they are.
        last = orjson.loads(found[-1])
        moment = parse_instant(last[stream.sent_time])
        wanted = ordered.filter(Place(moment, last["id"]).beyond(time))


def columns(kind: type[Struct]) -> Iterator[tuple[str, ...]]:
    """Yield the objects that a column lies in and its own name, column by column."""
    for field in fields(kind):
        inner = columns(field.type) if is_struct_type(field.type) else [()]
        yield from ((field.name, *path) for path in inner)


def _shape(kind: type[Struct]) -> type[Struct]:
    """Return what stored events look like; None where one has no value."""
    found: list[Any] = [
        (field.name, _shape(field.type))
        if is_struct_type(field.type)
        else (field.name, Any, None)
        for field in fields(kind)
    ]
    return msgspec.defstruct("Shape", found, kw_only=True, gc=False)
