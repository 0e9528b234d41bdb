"""Summaries of the traffic against SQL on the events, and what their sums cost ingest."""

import time
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson
from django.db import connection

from benchmarks.event_data import traffic_events
from benchmarks.report import alternating_medians, median_seconds
from events.models import RollUpMark, TrafficRollUp
from events.streams import batches, rollups
from events.streams.catalogue import TRAFFIC
from events.streams.hours import DAY, HOUR, WIDTHS, Span
from events.streams.subjects import TRAFFIC_SUBJECT

if TYPE_CHECKING:
    from benchmarks.bench_events import EventsBench

PEERS: Final = 5000
EVENTS_A_DAY: Final = 1_000_000
BATCH: Final = 5000
SHIPPED: Final = 500
"""What a shipper gathers in a minute at that rate."""

GROUPS: Final = {
    "source": "COALESCE(NULLIF(source_id, ''), source_address)",
    "policy": "policy_id",
    "direction": "direction",
}
_RFC3339: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
LONGEST: Final = 0.3
"""Seconds for whole hours, whatever their number."""


def summaries(bench: "EventsBench", path: str) -> None:
    """Ask for two whole days, first of the events themselves, then of their sums."""
    first = (bench.now - timedelta(days=3)).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    last = first + timedelta(days=2, microseconds=-1)
    dates = _dates(first, last)
    for model in (TrafficRollUp, RollUpMark):
        model._default_manager.all().delete()

    def against_sql(group: str) -> tuple[float, float]:
        client = bench.connect()
        return alternating_medians(
            lambda: bench.get(client, f"{path}/summary?{dates}&group_by={group}"),
            lambda: _by_hand(group, first, last),
            times=5,
        )

    for group in GROUPS:
        ours, theirs = against_sql(group)
        name = f"summary by {group}, events against SQL"
        bench.report.at_most(name, ours, theirs, 1.5, guard=2.3)
    sum_up()
    for group in GROUPS:
        ours, theirs = against_sql(group)
        bench.report.at_most(f"summary by {group}, sums against SQL", ours, theirs, 1)
        name = f"summary by {group}, sums against {LONGEST} s"
        bench.report.at_most(name, ours, LONGEST, 1)
        half = _dates(first, last - timedelta(hours=36))
        took = _took(bench, f"{path}/summary?{half}&group_by={group}")
        name = f"summary of twelve hours by {group}, sums against {LONGEST} s"
        bench.report.at_most(name, took, LONGEST, 1)
    _ninety_days(bench, path)


def _ninety_days(bench: "EventsBench", path: str) -> None:
    """Ask for 90 days that begin and end amid a day, where sums of 5,000 sources are."""
    end = int(bench.now.timestamp()) // DAY * DAY - 10 * DAY + 11 * HOUR
    span = Span(end - 90 * DAY + 2 * HOUR, end)
    sums = [
        TrafficRollUp(
            family=TRAFFIC_SUBJECT.families["source"],
            width=width,
            start=start,
            key=f"s{number:019}",
            events=number,
            first=span.first,
            last=span.last,
            **dict.fromkeys(TRAFFIC_SUBJECT.sums, number * start),
        )
        for width, part in span.by_width(WIDTHS, end)
        for start in range(part.start, part.end, width)
        for number in range(PEERS)
    ]
    TrafficRollUp.objects.bulk_create(sums, batch_size=5000)
    bench.settle()
    dates = _dates(span.first, span.last)
    took = _took(bench, f"{path}/summary?{dates}&group_by=source")
    name = f"summary of 90 days from {len(sums)} sums against {LONGEST} s"
    bench.report.at_most(name, took, LONGEST, 1)


def _dates(first: datetime, last: datetime) -> str:
    return f"start_date={first:{_RFC3339}}&end_date={last:{_RFC3339}}"


def _took(bench: "EventsBench", path: str) -> float:
    client = bench.connect()
    return median_seconds(lambda: bench.get(client, path))


def _by_hand(group: str, first: datetime, last: datetime) -> None:
    """Ask the same in SQL: the ten biggest groups, and the hours of those."""
    key = GROUPS[group]
    size = "SUM(rx_bytes) + SUM(tx_bytes)"
    times = [str(moment.replace(tzinfo=None)) for moment in (first, last)]
    hour = "substr(time, 1, 13)"
    if connection.vendor == "postgresql":
        times = [f"{moment}+00" for moment in times]
        hour = "date_trunc('hour', time)"
    span = "FROM events_trafficevent WHERE time >= %s AND time <= %s"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {key}, {size}, COUNT(*), MIN(time), MAX(time) {span}"
            " GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
            times,
        )
        keys = [row[0] for row in cursor.fetchall()]
        among = ", ".join(["%s"] * len(keys))
        cursor.execute(
            f"SELECT {key}, {hour}, {size} {span} AND {key} IN ({among}) GROUP BY 1, 2",
            [*times, *keys],
        )
        cursor.fetchall()


def sum_up() -> float:
    """Sum the events of all streams up; return how long that took, in seconds."""
    began, before, marks = time.perf_counter(), None, _marks()
    while marks != before:  # a run ends after its time, wider spans being its last
        rollups.roll_up(least=1)
        before, marks = marks, _marks()
    return time.perf_counter() - began


def _marks() -> list[tuple[str, int, int]]:
    marks = RollUpMark.objects.order_by("stream")
    return list(marks.values_list("stream", "arrival", "until"))


def cost_of_sums(bench: "EventsBench") -> None:
    """Take in events of 5,000 peers as they come, 1,000,000 a day, and sum them up.

    All together, as after a while without housekeeping, then in the pieces it finds.
    """
    count = bench.rows // 5
    ids = 90 * 10**6
    _cost_of_sums(bench, ids, bench.now, batch=BATCH, piece=count)
    # At another time: sums that are there cost less than new ones.
    earlier = bench.now - timedelta(hours=6)
    _cost_of_sums(bench, 2 * ids, earlier, batch=SHIPPED, piece=rollups.LEAST)


def _cost_of_sums(
    bench: "EventsBench", first: int, until: datetime, *, batch: int, piece: int
) -> None:
    count = bench.rows // 5
    days = count / EVENTS_A_DAY
    events = traffic_events(count, until, days=days, first=first, peers=PEERS)
    before = TrafficRollUp.objects.count()
    took = summed = 0.0
    for taken in range(batch, count + 1, batch):
        body = orjson.dumps(list(islice(events, batch)))
        began = time.perf_counter()
        batches.ingest(TRAFFIC, body)
        took += time.perf_counter() - began
        if taken % piece == 0:
            summed += sum_up()
    made = TrafficRollUp.objects.count() - before
    bench.report.note(f"{count} events in pieces of {piece} made {made} sums")
    name = f"summing {piece} events up against taking them in"
    bench.report.at_most(name, summed, took, 0.15, guard=0.18)
