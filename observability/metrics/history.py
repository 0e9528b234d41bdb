"""The main figures of the last hour, for the admin's metrics page; one point per 10 s.

Written by the housekeeping process into the runtime directory. It is no replacement for
Prometheus: it is what is there when nothing else is.
"""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from meshmgmt.core import runtime
from observability.metrics.exposition import Family, Sample

FILE: Final = "history.json"
EVERY_SECONDS: Final = 10.0
KEEP: Final = 360
HOUR: Final = 3600
HOURS: Final = 168

_CODES: Final = "management_http_response_code_total"
_DURATION: Final = "management_http_request_duration_ms"
_WAIT: Final = "management_store_global_lock_acquisition_duration_micro"

Buckets = dict[float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """Figures of the 10 seconds up to `time` (seconds since the epoch)."""

    time: float
    requests_per_second: float
    failures_per_second: float
    p95_ms: float | None
    lock_wait_p95_ms: float | None
    memory_mib: float
    peers_connected: float | None


@dataclass(frozen=True, slots=True)
class _Totals:
    time: float
    answers: float
    failures: float
    durations: Buckets
    waits: Buckets


class Recorder:
    """Turns totals into figures of an interval and keeps the last hour of them."""

    def __init__(self, runtime_dir: Path) -> None:
        self._path = runtime_dir / FILE
        self._last: _Totals | None = None
        self._points: list[dict[str, Any]] = []
        self._hours: list[list[float]] = _stored(runtime_dir).get("most", [])

    def add(self, families: Iterable[Family], now: float) -> None:
        """Take the figures of a scrape at `now`. Raises OSError."""
        by_name = {family.name: family for family in families}
        totals = _totals(by_name, now)
        last, self._last = self._last, totals
        # Figures are of an interval; clocks are set back, and a server that starts
        # while this process runs on counts from zero.
        if last is None or totals.time <= last.time or totals.answers < last.answers:
            return
        point = _point(by_name, last, totals)
        self._points.append(asdict(point))
        del self._points[:-KEEP]
        self._count(point)
        runtime.write_json(self._path, {"points": self._points, "most": self._hours})

    def _count(self, point: Point) -> None:
        """Keep how many peers were connected at most in an hour, beside its number."""
        if point.peers_connected is None:
            return
        hour = point.time // HOUR
        if not self._hours or self._hours[-1][0] != hour:
            self._hours.append([hour, 0.0])
        self._hours[-1][1] = max(self._hours[-1][1], point.peers_connected)
        del self._hours[:-HOURS]


def read(runtime_dir: Path) -> list[Point]:
    """Return the points of the last hour, oldest first."""
    points = _stored(runtime_dir).get("points", [])
    since = time.time() - KEEP * EVERY_SECONDS
    return [Point(**point) for point in points if point["time"] >= since]


def connected_by_hour(runtime_dir: Path) -> list[float | None]:
    """Return how many peers were connected at most in each hour of the last week.

    Oldest first, the running hour last; None where nothing counted them.
    """
    most = dict(_stored(runtime_dir).get("most", []))
    last = int(time.time() // HOUR)
    return [most.get(hour) for hour in range(last - HOURS + 1, last + 1)]


def _stored(runtime_dir: Path) -> dict[str, Any]:
    return runtime.read_json(runtime_dir / FILE) or {}


def _point(families: dict[str, Family], last: _Totals, totals: _Totals) -> Point:
    seconds = totals.time - last.time
    wait = quantile(0.95, _increase(last.waits, totals.waits))
    return Point(
        time=totals.time,
        requests_per_second=(totals.answers - last.answers) / seconds,
        failures_per_second=(totals.failures - last.failures) / seconds,
        p95_ms=quantile(0.95, _increase(last.durations, totals.durations)),
        lock_wait_p95_ms=None if wait is None else wait / 1000,
        memory_mib=(_value(families, "process_resident_memory_bytes") or 0) / 2**20,
        peers_connected=_value(families, "mesh_peers", state="connected"),
    )


def _totals(families: dict[str, Family], now: float) -> _Totals:
    codes = _samples(families, _CODES)
    return _Totals(
        time=now,
        answers=sum(sample.value for sample in codes),
        failures=sum(s.value for s in codes if dict(s.labels)["code"] >= "500"),
        durations=_buckets(families, _DURATION),
        waits=_buckets(families, _WAIT),
    )


def _value(families: dict[str, Family], name: str, **labels: str) -> float | None:
    for sample in _samples(families, name):
        if dict(sample.labels) == labels:
            return sample.value
    return None


def _buckets(families: dict[str, Family], name: str) -> Buckets:
    found: Buckets = {}
    for sample in _samples(families, name):
        if sample.name.endswith("_bucket"):
            bound = float(dict(sample.labels)["le"])
            found[bound] = found.get(bound, 0.0) + sample.value
    return found


def _samples(families: dict[str, Family], name: str) -> list[Sample]:
    return families[name].samples if name in families else []


def _increase(before: Buckets, after: Buckets) -> Buckets:
    return {bound: value - before.get(bound, 0.0) for bound, value in after.items()}


def quantile(share: float, buckets: Buckets) -> float | None:
    """Return a quantile of cumulative buckets, as Prometheus does; None when empty."""
    bounds = sorted(buckets)
    if not bounds or buckets[bounds[-1]] <= 0:
        return None
    wanted = share * buckets[bounds[-1]]
    low, below = 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted:
            # Nothing bounds the last one: Prometheus, too, takes the bound before it.
            if bound == float("inf"):
                return low
            inside = buckets[bound] - below
            return low + (bound - low) * ((wanted - below) / inside if inside else 1)
        low, below = bound, buckets[bound]
    return low
