"""What a benchmark found, as lines with a verdict."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Report:
    """Prints each ratio as it comes and remembers what missed its target."""

    missed: list[str] = field(default_factory=list)
    short: list[str] = field(default_factory=list)
    """What falls short of its target, but not of its guard."""

    def note(self, text: str) -> None:
        """Print a line that is no ratio."""
        print(f"    {text}", flush=True)

    def at_most(
        self,
        name: str,
        measured: float,
        reference: float,
        limit: float,
        *,
        guard: float | None = None,
    ) -> None:
        """Report `measured / reference`, both in seconds, that may not exceed `limit`.

        With a `guard`, which docs/performance.md gives the reason for, a ratio between
        the two is told of, and only one beyond the guard is a missed target.
        """
        ratio = measured / reference
        figures = f"{measured * 1000:9.2f} ms against {reference * 1000:9.2f} ms"
        beyond = ratio > (limit if guard is None else guard)
        bound = _bound("at most", limit, guard)
        self._line(name, ratio, bound, ratio <= limit, figures, beyond=beyond)

    def at_least(
        self,
        name: str,
        measured: float,
        reference: float,
        limit: float,
        *,
        guard: float | None = None,
    ) -> None:
        """Report `measured / reference`, both per second, that must reach `limit`.

        `guard` means what it means to `at_most()`.
        """
        ratio = measured / reference
        figures = f"{measured:9.0f} /s against {reference:9.0f} /s"
        beyond = ratio < (limit if guard is None else guard)
        bound = _bound("at least", limit, guard)
        self._line(name, ratio, bound, ratio >= limit, figures, beyond=beyond)

    def size_at_most(self, name: str, kib: int, limit: int) -> None:
        """Report a size in KiB that may not exceed `limit`."""
        bound, figures = "at most 1", f"{kib:9} KiB of {limit:9} KiB"
        good = kib <= limit
        self._line(name, kib / limit, bound, good, figures, beyond=not good)

    def none_of(self, name: str, count: int) -> None:
        """Report how often something happened that must not happen."""
        self._line(name, count, "none", not count, "", beyond=count > 0)

    def _line(
        self,
        name: str,
        ratio: float,
        bound: str,
        good: bool,
        figures: str,
        *,
        beyond: bool,
    ) -> None:
        if beyond:
            self.missed.append(name)
        elif not good:
            self.short.append(f"{name}: {ratio:.2f}, target {bound}")
        verdict = "MISSED" if beyond else "ok    " if good else "short "
        print(f"  {verdict} {ratio:7.2f} ({bound}) {figures}  {name}", flush=True)


def _bound(word: str, limit: float, guard: float | None) -> str:
    return f"{word} {limit:g}" + ("" if guard is None else f", guard {guard:g}")


def median_seconds(action: Callable[[], object], *, times: int = 7) -> float:
    """Return the median duration of `action`, after one run that does not count."""
    action()
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def alternating_medians(
    first: Callable[[], object], second: Callable[[], object], *, times: int = 7
) -> tuple[float, float]:
    """Return the median durations of two actions run in turn.

    Taking turns lets a passing load of the machine hit both alike.
    """
    first()
    second()
    durations: tuple[list[float], list[float]] = ([], [])
    for _ in range(times):
        for action, kept in zip((first, second), durations, strict=True):
            started = time.perf_counter()
            action()
            kept.append(time.perf_counter() - started)
    return statistics.median(durations[0]), statistics.median(durations[1])
