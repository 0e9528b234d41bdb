"""Pages of an explorer's list: newest first, found by time and id, never counted.

What comes in meanwhile moves no page, and a deep one costs what the first does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from meshmgmt.core.errors import BadRequest
from meshmgmt.core.fielderrors import FieldError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR: Final = re.compile(r"(before|newer)\.(\d{1,17})\.([^\0]{1,200})", re.ASCII)


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows, newest first, and the cursors of their neighbours, "" where there are none."""

    rows: Sequence[Any]
    newer: str = ""
    older: str = ""


def read_rows(
    matching: QuerySet[Any], time: str, size: int, cursor: str = ""
) -> RowPage:
    """Return a page of `matching`. Raises BadRequest for a cursor that is none."""
    newest_first = (f"-{time}", "-pk")
    if not cursor:
        found = list(matching.order_by(*newest_first)[: size + 1])
        rows = found[:size]
        return RowPage(rows, older=_older(rows, time) if len(found) > size else "")
    upwards, moment, key = _parsed(cursor, matching.model)
    side = "gt" if upwards else "lt"
    beyond = Q(**{f"{time}__{side}": moment}) | Q(**{time: moment, f"pk__{side}": key})
    wanted = matching.filter(beyond, **{f"{time}__{side}e": moment})
    order = (time, "pk") if upwards else newest_first
    found = list(wanted.order_by(*order)[: size + 1])
    more, rows = len(found) > size, found[:size]
    if upwards:
        rows.reverse()
    return RowPage(
        rows,
        newer=_newer(rows, time) if more or not upwards else "",
        older=_older(rows, time) if more or upwards else "",
    )


def sorted_rows(matching: QuerySet[Any], order: Sequence[str], size: int) -> RowPage:
    """Return the first rows in any order, found on narrow rows before they are read."""
    keys = list(matching.order_by(*order).values_list("pk", flat=True)[:size])
    rows = matching.model._default_manager.defer("search").in_bulk(keys)
    return RowPage([rows[key] for key in keys if key in rows])


def _older(rows: Sequence[Any], time: str) -> str:
    return f"before.{_place(rows[-1], time)}" if rows else ""


def _newer(rows: Sequence[Any], time: str) -> str:
    return f"newer.{_place(rows[0], time)}" if rows else ""


def _place(row: Any, time: str) -> str:
    micros = (getattr(row, time) - _EPOCH) // timedelta(microseconds=1)
    return f"{micros}.{row.pk}"


def _parsed(cursor: str, model: type[Model]) -> tuple[bool, datetime, Any]:
    """Return whether a cursor leads to newer rows, and from which time and key."""
    match = _CURSOR.fullmatch(cursor)
    try:
        if match is None:
            raise ValueError(cursor)
        moment = _EPOCH + timedelta(microseconds=int(match[2]))
        pk: Any = model._meta.pk
        return match[1] == "newer", moment, pk.to_python(match[3])
    except (ValueError, OverflowError, ValidationError) as error:
        text = "cursor: is no place in this list"
        raise BadRequest(text, [FieldError("cursor", text)]) from error
