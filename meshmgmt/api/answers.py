"""Room for large answers: each process makes one at a time.

A list takes about ten times its size while it is made, and threads that share one
interpreter make several no sooner than one after the other. How large an answer will be is
taken from those before it; the first of its kind counts as large.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from meshmgmt.core.errors import Unavailable
from meshmgmt.core.lane import Lane

LARGE_BYTES: Final = 2**20
readers: Final = Lane(patience=60.0, grace=20.0)
"""Who makes a large answer or waits to."""
BUSY: Final = "too many large answers are being made: try again in a few seconds"
_FADING: Final = 0.9
"""One small answer says little of a kind that had a large one."""

_sizes: Final[dict[str, float]] = {}


@contextmanager
def room_for(kind: str) -> Iterator[None]:
    """Run a block that makes an answer of this kind, alone when it will be large.

    Raises Unavailable when others take too long.
    """
    if _sizes.get(kind, LARGE_BYTES) < LARGE_BYTES:
        yield
        return
    with readers.turn(Unavailable(BUSY)):
        yield


def note_size(kind: str, size: int) -> None:
    """Remember how many bytes an answer of this kind had."""
    _sizes[kind] = max(size, _sizes.get(kind, 0) * _FADING)
