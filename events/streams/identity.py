"""Ids of events that bring none: the same events sent again get the same ids."""

from collections import OrderedDict
from hashlib import blake2b
from typing import Final

WINDOW: Final = 10_000
"""How many distinct events back an equal one is counted as a repetition.

Equal events carry equal times, so they stand near each other.
"""


class DerivedIds:
    """Hashes of events, as lines or as JSON, with their ordinal among equal ones."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, int] = OrderedDict()

    def id_of(self, text: bytes) -> str:
        digest = blake2b(text, digest_size=12).hexdigest()
        # Taken out and put back: the window is of those seen last.
        ordinal = self._seen.pop(digest, 0) + 1
        self._seen[digest] = ordinal
        if len(self._seen) > WINDOW:
            self._seen.popitem(last=False)
        return f"{digest}-{ordinal}"
