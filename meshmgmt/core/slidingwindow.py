"""How many requests a sliding window lets through; pure, whoever keeps the counts.

The window is cut into periods. In any stretch of time as long as the window at most
`limit.count` are permitted, for it touches no more periods than are added up here. A burst
of all of them is fine; under a constant flood it is one thirtieth less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

PERIODS: Final = 30
APART: Final = 60.0
"""Seconds by which the clocks of hosts may differ."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`count` requests in `seconds`."""

    count: int
    seconds: int

    @property
    def period(self) -> float:
        """Seconds that one count stands for."""
        return self.seconds / PERIODS

    @property
    def memory(self) -> float:
        """Seconds after which a permit counts no more."""
        return self.seconds + self.period

    @property
    def ahead(self) -> float:
        """Seconds from now up to which permits may have been given already."""
        return max(self.seconds, APART)

    @property
    def longest_wait(self) -> float:
        """Seconds that nobody waits any longer."""
        return self.ahead + self.memory


@dataclass(frozen=True, slots=True)
class Grant:
    """`permits` given, none of them for `wait` seconds; `used` is what to remember."""

    permits: int
    wait: float
    used: dict[str, int]


def grant(
    limit: Limit, used: Mapping[str, int], *, now: float, wanted: int, owed: int = 0
) -> Grant:
    """Give as many of the `wanted` permits as the window has left at second `now`.

    Those `owed` were used before anybody could be asked, and count too.
    """
    # Numbered from the epoch: all hosts cut the window at the same moments.
    period = int(now / limit.period)
    # Of hosts whose clocks differ what counts may lie ahead, but not what was counted by
    # a clock that has been set back since.
    ahead = limit.ahead / limit.period
    recent = {
        each: count
        for each, count in used.items()
        if -PERIODS <= int(each) - period <= ahead
    }
    permits = max(0, min(wanted, limit.count - owed - sum(recent.values())))
    if permits + owed:
        # A text: what is remembered may be kept as JSON, whose keys are.
        recent[str(period)] = recent.get(str(period), 0) + permits + owed
    if permits:
        return Grant(permits, 0.0, recent)
    oldest = min(map(int, recent))
    # When the oldest count has left the window.
    return Grant(0, (oldest + PERIODS + 1) * limit.period - now, recent)
