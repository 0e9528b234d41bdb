"""What retention of all streams shares."""

from dataclasses import dataclass
from datetime import date
from typing import Final

CHUNK: Final = 500
"""Rows deleted at once: others wait for SQLite's write lock meanwhile."""

BREATH_SECONDS: Final = 0.01
"""Pause between two pieces, in which those who wait take the lock."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows of a stream are older than its retention, and from when on."""

    stream: str
    rows: int
    before: date
