"""Cursors of the audit trail.

`before.<microseconds>.<id>` goes on towards older events, `newer.<microseconds>.<id>` the
other way. `after.<id>` gives what was committed since: ids grow in commit order, so a
reader that follows it misses nothing.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

from django.db.models import Q

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PLACE: Final = re.compile(r"(before|newer)\.(\d{1,17})\.(\d{1,18})", re.ASCII)
_AFTER: Final = re.compile(r"after\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Before:
    """Everything older than the event with this time and id."""

    timestamp: datetime
    id: int
    name: ClassVar[str] = "before"
    side: ClassVar[str] = "lt"

    def __str__(self) -> str:
        micros = (self.timestamp - _EPOCH) // timedelta(microseconds=1)
        return f"{self.name}.{micros}.{self.id}"

    @property
    def condition(self) -> Q:
        """The rows this cursor leads to, with a bound that an index serves."""
        bound = Q(**{f"timestamp__{self.side}e": self.timestamp})
        same = Q(**{"timestamp": self.timestamp, f"id__{self.side}": self.id})
        return bound & (Q(**{f"timestamp__{self.side}": self.timestamp}) | same)


class Newer(Before):
    """Everything newer than the event with this time and id."""

    name = "newer"
    side = "gt"


@dataclass(frozen=True, slots=True)
class After:
    """Everything committed later than the event with this id."""

    id: int

    def __str__(self) -> str:
        return f"after.{self.id}"

    @property
    def condition(self) -> Q:
        return Q(id__gt=self.id)


Cursor = Before | Newer | After


def parse_cursor(text: str) -> Cursor:
    """Return the cursor that `text` stands for. Raises ValueError."""
    if match := _PLACE.fullmatch(text):
        moment = _EPOCH + timedelta(microseconds=int(match[2]))
        return (Before if match[1] == "before" else Newer)(moment, int(match[3]))
    if match := _AFTER.fullmatch(text):
        return After(int(match[1]))
    raise ValueError("is not a cursor of this service")
