"""Limits on how often somebody may try something: token buckets in memory."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class RateLimit:
    """Lets each key act `burst` times at once and `per_minute` times a minute.

    Every process counts for itself, so several workers let through as many times more.
    At most `keys` are remembered; a key that is full again is forgotten first.
    """

    per_minute: float
    burst: int
    keys: int = 10_000
    now: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: str) -> float:
        """Count one try; return 0, or the seconds until the next one is allowed."""
        with self._lock:
            moment = self.now()
            left = self._left(key, moment)
            if left < 1:
                return (1 - left) * 60 / self.per_minute
            if len(self._buckets) >= self.keys:
                self._forget(moment)
            self._buckets[key] = (left - 1, moment)
            return 0.0

    def _left(self, key: str, moment: float) -> float:
        left, since = self._buckets.get(key, (float(self.burst), moment))
        return min(self.burst, left + (moment - since) * self.per_minute / 60)

    def _forget(self, moment: float) -> None:
        full = [key for key in self._buckets if self._left(key, moment) >= self.burst]
        for key in full or list(self._buckets)[: self.keys // 2]:
            del self._buckets[key]
