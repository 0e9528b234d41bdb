"""Lists ordered by time and key: what lies beyond a place, and cursors that name one."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from django.db.models import Q

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR: Final = re.compile(r"(before|newer)\.(\d{1,17})\.([^\0]{1,200})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row with this time and key stands; older ones lie beyond, or `newer`."""

    time: datetime
    key: Any
    newer: bool = False

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Return the place that a cursor names; its key is a text.

        Raises ValueError or OverflowError.
        """
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("is not a cursor of this service")
        moment = _EPOCH + timedelta(microseconds=int(match[2]))
        return cls(moment, match[3], newer=match[1] == "newer")

    def __str__(self) -> str:
        """Return the cursor, such as `before.<microseconds>.<key>`."""
        micros = (self.time - _EPOCH) // timedelta(microseconds=1)
        return f"{'newer' if self.newer else 'before'}.{micros}.{self.key}"

    def beyond(self, column: str) -> Q:
        """Return what lies beyond, with a bound of the times that an index serves."""
        side = "gt" if self.newer else "lt"
        same = Q(**{column: self.time, f"pk__{side}": self.key})
        further = Q(**{f"{column}__{side}": self.time})
        return Q(**{f"{column}__{side}e": self.time}) & (further | same)
