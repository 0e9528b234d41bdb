"""Lists ordered by time and key: what lies beyond a place, and cursors that name one."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db.models import Q

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR: Final = re.compile(r"(before|newer)\.(\d{1,17})\.([^\0]{1,200})", re.ASCII)


def beyond(time: str, moment: datetime, key: Any, *, newer: bool = False) -> Q:
    """Return what is older than a place, or `newer`, with a bound that an index serves."""
    side = "gt" if newer else "lt"
    same = Q(**{time: moment, f"pk__{side}": key})
    return Q(**{f"{time}__{side}e": moment}) & (Q(**{f"{time}__{side}": moment}) | same)


def written(moment: datetime, key: Any, *, newer: bool = False) -> str:
    """Return the cursor of a place, such as `before.<microseconds>.<key>`."""
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return f"{'newer' if newer else 'before'}.{micros}.{key}"


def parsed(text: str) -> tuple[bool, datetime, str]:
    """Return whether a cursor leads to newer rows, and from which time and key.

    Raises ValueError or OverflowError.
    """
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise ValueError("is not a cursor of this service")
    moment = _EPOCH + timedelta(microseconds=int(match[2]))
    return match[1] == "newer", moment, match[3]
