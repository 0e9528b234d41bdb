"""Findings kept in this process until something in the account changes.

The newest audit event stands for the state of the account: each write of what the rules
look at leaves one. Looking at it costs one query by the key, computing costs seconds of
the processor in a large account; so findings may also lag behind changes, for a short
while that grows with what they cost.
"""

import datetime as dt
import time
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, NamedTuple

from events.audit.emission import newest
from meshmgmt.core import clock
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import account_findings
from meshmgmt.explain.lint.finding import Finding, Severity, at_least

CHEAP: Final = 0.2
"""Seconds; findings that took no longer are computed after every change."""
LAG: Final = 20
"""For each second beyond it they may be this many seconds behind the changes."""
MOST_SECONDS: Final = 600.0

_Mark = tuple[Any, ...] | None


class FindingsCount(NamedTuple):
    """How many findings there are of each severity."""

    warnings: int
    notes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Findings about the account as it was at a moment, which took `cost` seconds."""

    findings: tuple[Finding, ...]
    computed_at: dt.datetime
    cost: float
    mark: _Mark
    _since: float

    @property
    def age(self) -> float:
        """Seconds since they were computed."""
        return time.monotonic() - self._since

    @property
    def count(self) -> FindingsCount:
        """How many there are of each severity."""
        warnings = len(at_least(self.findings, Severity.WARNING))
        return FindingsCount(warnings, len(self.findings) - warnings)

    def serves(self, mark: _Mark) -> bool:
        """Tell whether they may be shown when the account is as `mark` says."""
        lag = LAG * max(0.0, self.cost - CHEAP)
        # Some come with time alone, such as by a login that ends, which leaves no
        # event.
        bound = MOST_SECONDS if self.mark == mark else lag
        return self.age < bound


_kept: list[Kept] = []
_computing: Final = Lock()


def findings(*, anew: bool = False) -> Kept:
    """Return the findings about the account, computed `anew` or kept."""
    with _computing:  # whoever comes meanwhile takes what the first one computed
        if not anew and _kept and _kept[0].serves(newest()):
            return _kept[0]
        _kept[:] = [_computed()]
        return _kept[0]


def are_kept() -> bool:
    """Tell whether `findings` would answer at once."""
    return bool(_kept) and _kept[0].serves(newest())


def is_behind(kept: Kept) -> bool:
    """Tell whether something changed since."""
    return kept.mark != newest()


def _computed() -> Kept:
    started = time.monotonic()
    with read_snapshot():
        # Before the computation: what changes meanwhile makes it old.
        mark = newest()
        found = tuple(account_findings())
    ended = time.monotonic()
    return Kept(found, clock.now(), ended - started, mark, ended)
