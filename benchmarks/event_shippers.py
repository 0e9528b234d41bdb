"""Several shippers that send traffic events at once, against one."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson

from benchmarks.event_data import traffic_events
from benchmarks.load import request
from events.models import TrafficEvent

if TYPE_CHECKING:
    from benchmarks.bench_events import EventsBench

PATH: Final = "/api/events/network-traffic"
MANY: Final = 8
EVENTS: Final = 500
"""Of each request, as log shippers send them."""
FIRST: Final = 30 * 10**6
"""Events of other numbers are made by other benchmarks."""
BATCHES: Final = 40
"""Of each shipper."""


def shippers(bench: "EventsBench") -> None:
    """Compare what eight reach together with what one does; nothing may be lost."""
    rates, refused = {}, {}
    for count in (1, MANY):
        bodies = list(_bodies(count * BATCHES, first=FIRST + count * 10**6))
        before = TrafficEvent.objects.count()
        started = time.perf_counter()
        with ThreadPoolExecutor(count) as pool:
            parts = [bodies[number::count] for number in range(count)]
            refused[count] = sum(pool.map(lambda part: _send(bench, part), parts))
        rates[count] = len(bodies) * EVENTS / (time.perf_counter() - started)
        assert TrafficEvent.objects.count() == before + len(bodies) * EVENTS
    # SQLite has one writer at a time, and who waits for it asks again and again.
    share = 1.0 if bench.postgresql else 0.5
    bench.report.at_least(f"{MANY} shippers against one", rates[MANY], rates[1], share)
    for count, rate in rates.items():
        bench.report.note(
            f"{count} at once: {rate:,.0f} events/s, {refused[count]} refusals"
        )


def _bodies(number: int, first: int) -> Iterator[bytes]:
    events = traffic_events(number * EVENTS, datetime.now(UTC), 1, first)
    for _ in range(number):
        yield orjson.dumps(list(islice(events, EVENTS)))


def _send(bench: "EventsBench", bodies: list[bytes]) -> int:
    """Send batches one after the other, again when told to wait; return how often."""
    client, refusals = bench.connect(), 0
    for body in bodies:
        message = request("POST", PATH, bench.token, body)
        while (answer := client.exchange(message))[0] in {429, 503}:
            refusals += 1
            time.sleep(1)
        assert answer[0] == 200, answer[1][:300]
    client.close()
    return refusals
