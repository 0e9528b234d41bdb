"""What a benchmark found, as lines with a verdict."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Report:
    """Prints each ratio as it comes and remembers the missed targets."""

    missed: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Print a line that is no ratio."""
        print(f"    {text}", flush=True)

    def at_most(
        self, name: str, measured: float, reference: float, limit: float
    ) -> None:
        """Report `measured / reference`, both in seconds, that may not exceed `limit`."""
        ratio = measured / reference
        figures = f"{measured * 1000:9.2f} ms against {reference * 1000:9.2f} ms"
        self._line(name, ratio, f"at most {limit:g}", ratio <= limit, figures)

    def at_least(
        self, name: str, measured: float, reference: float, limit: float
    ) -> None:
        """Report `measured / reference`, both per second, that must reach `limit`."""
        ratio = measured / reference
        figures = f"{measured:9.0f} /s against {reference:9.0f} /s"
        self._line(name, ratio, f"at least {limit:g}", ratio >= limit, figures)

    def size_at_most(self, name: str, kib: int, limit: int) -> None:
        """Report a size in KiB that may not exceed `limit`."""
        bound, figures = "at most 1", f"{kib:9} KiB of {limit:9} KiB"
        self._line(name, kib / limit, bound, kib <= limit, figures)

    def _line(
        self, name: str, ratio: float, bound: str, good: bool, figures: str
    ) -> None:
        if not good:
            self.missed.append(name)
        verdict = "ok    " if good else "MISSED"
        print(f"  {verdict} {ratio:7.2f} ({bound}) {figures}  {name}", flush=True)


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
