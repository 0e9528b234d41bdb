"""Days dropped while batches come in: nothing fails, nobody waits for long."""

import threading
import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson

from benchmarks.load import request
from events.streams import retention
from events.streams.catalogue import Stream

if TYPE_CHECKING:
    from benchmarks.bench_events import EventsBench, Maker

SMALL_BATCH: Final = 100
LONGEST_WAIT: Final = 1.0
"""Seconds an insert may take meanwhile."""


class Reporter(threading.Thread):
    """Sends small batches one after another until it is told to stop."""

    def __init__(
        self, bench: "EventsBench", path: str, make: "Maker", number: int
    ) -> None:
        super().__init__()
        self.bench = bench
        self.path = path
        self.events = make(1_000_000, datetime.now(UTC), days=1, first=number * 10**7)
        self.enough = threading.Event()
        self.took: list[float] = []
        self.refused: list[bytes] = []

    def run(self) -> None:
        """Send until stopped, noting how long each batch took."""
        client = self.bench.connect()
        while not self.enough.is_set():
            body = orjson.dumps(list(islice(self.events, SMALL_BATCH)))
            started = time.perf_counter()
            status, answer = client.exchange(
                request("POST", self.path, self.bench.token, body)
            )
            self.took.append(time.perf_counter() - started)
            if status != 200:
                self.refused.append(answer)


def drop_while_ingesting(
    bench: "EventsBench", stream: Stream, path: str, make: "Maker"
) -> None:
    """Drop all days but yesterday and today while two reporters send."""
    reporters = [Reporter(bench, path, make, number) for number in (1, 2)]
    for reporter in reporters:
        reporter.start()
    time.sleep(1)
    before = stream.model._default_manager.count()
    started = time.perf_counter()
    retention.drop_days(stream, (bench.now - timedelta(days=1)).date())
    took = time.perf_counter() - started
    gone = before - stream.model._default_manager.count()
    for reporter in reporters:
        reporter.enough.set()
        reporter.join()
    refused = [answer for reporter in reporters for answer in reporter.refused]
    assert not refused, refused[0][:300]
    times = [seconds for reporter in reporters for seconds in reporter.took]
    bench.report.note(
        f"{stream.name}: about {gone} events dropped in {took:.1f} s,"
        f" {len(times)} batches of {SMALL_BATCH} came in meanwhile, none refused"
    )
    bench.report.at_most(
        f"{stream.name}: longest batch meanwhile",
        max(times),
        LONGEST_WAIT,
        1,
    )
