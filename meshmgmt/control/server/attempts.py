"""Wrong setup keys and tokens: so many tries of one address, then a wait."""

import time
from typing import Final

from meshmgmt.core.ratelimit import RateLimit

_MOST: Final = 10_000


class Attempts:
    """Remembers addresses that failed too often, a bounded number of them."""

    def __init__(self, *, burst: int, per_minute: float) -> None:
        self._limit = RateLimit(per_minute=per_minute, burst=burst, keys=_MOST)
        self._until: dict[str, float] = {}

    def failed(self, source: str) -> None:
        wait = self._limit.take(source)
        if wait > 0:
            if len(self._until) >= _MOST:
                self._until.clear()
            self._until[source] = time.monotonic() + wait

    def blocked(self, source: str) -> bool:
        """Tell whether an address must wait before it may try again."""
        until = self._until.get(source)
        if until is None:
            return False
        if until > time.monotonic():
            return True
        del self._until[source]
        return False
