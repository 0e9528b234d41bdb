"""Cursors of the audit trail.

`before.<microseconds>.<id>` goes on towards older events, `newer.<microseconds>.<id>` the
other way. `after.<id>` gives what was committed since: ids grow in commit order, so a
reader that follows it misses nothing.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final

from django.db.models import Q

from events.keyset import beyond, parsed, written

_ID: Final = re.compile(r"\d{1,18}", re.ASCII)
_AFTER: Final = "after."


@dataclass(frozen=True, slots=True)
class Before:
    """Everything older than the event with this time and id."""

    timestamp: datetime
    id: int
    newer: ClassVar[bool] = False

    def __str__(self) -> str:
        return written(self.timestamp, self.id, newer=self.newer)

    @property
    def condition(self) -> Q:
        """The rows this cursor leads to."""
        return beyond("timestamp", self.timestamp, self.id, newer=self.newer)


class Newer(Before):
    """Everything newer than the event with this time and id."""

    newer = True


@dataclass(frozen=True, slots=True)
class After:
    """Everything committed later than the event with this id."""

    id: int

    def __str__(self) -> str:
        return f"{_AFTER}{self.id}"

    @property
    def condition(self) -> Q:
        return Q(id__gt=self.id)


Cursor = Before | Newer | After


def parse_cursor(text: str) -> Cursor:
    """Return the cursor that `text` stands for. Raises ValueError, OverflowError."""
    committed = text.removeprefix(_AFTER)
    if committed != text and _ID.fullmatch(committed):
        return After(int(committed))
    newer, moment, key = parsed(text)
    if not _ID.fullmatch(key):
        raise ValueError("is not a cursor of this service")
    return (Newer if newer else Before)(moment, int(key))
