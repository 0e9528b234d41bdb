"""A part of a day at 1,000 events a second: what it takes, and what is asked of it costs.

20,000,000 traffic events on PostgreSQL (BENCH_VOLUME changes it), some 45 GB and 35
minutes. Asked for by name only.
"""

import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

import orjson
from django.db import connection

from benchmarks.bench_events import TRAFFIC_PATH
from benchmarks.event_data import traffic_events
from benchmarks.event_summaries import PEERS, sum_up
from benchmarks.load import Connection, request
from benchmarks.report import Report, median_seconds
from benchmarks.workspace import Workspace
from events.models import RollUpGap, TrafficRollUp
from events.streams import batches, partitions
from events.streams.catalogue import TRAFFIC

RATE: Final = 1000
DAY_ROWS: Final = RATE * 86_400
SAMPLE: Final = 20_000
BATCH: Final = 5000
PIECE: Final = 1_000_000

QUESTIONS: Final = (
    ("page of 1,000", ""),
    ("page of 50,000", "page_size=50000"),
    ("last page that totals reach", "page=1000"),
    ("filter: one user", "user_id=u0000000000000000007"),
    ("filter: one source", "source_id=p0000000000000000007"),
    (
        "filter: a pair",
        "source_id=p0000000000000000007&destination_id=p0000000000000000008",
    ),
    ("filter: drops", "type=TYPE_DROP"),
    ("filter: one user's drops", "user_id=u0000000000000000007&type=TYPE_DROP"),
    ("search: a person", "search=user007"),
    ("search: a service", "search=service-07"),
    ("search: nothing found", "search=no-such-thing"),
    ("search: everybody", "search=example.com"),
)
SUMMARIES: Final = (
    ("whole hours, by source", "group_by=source"),
    ("whole hours, by policy", "group_by=policy"),
    ("whole hours by the hour, by policy", "group_by=policy&bucket=1h"),
    ("whole hours, drops by user", "group_by=user&type=TYPE_DROP&bucket=1h"),
    ("one hour, by user and destination", "group_by=user,destination&hours=1"),
    (
        "one hour, found by a search, by source",
        "group_by=source&search=user007&hours=1",
    ),
)


def run(workspace: Workspace, report: Report) -> None:
    """Fill the end of yesterday, then ask, add to it, and drop it."""
    if workspace.vendor != "postgresql":
        report.note("is about PostgreSQL")
        return
    volume = Volume(workspace, report)
    for step in (volume.fill, volume.index, volume.settle, volume.sum_up):
        volume.timed(step)
    volume.sizes()
    volume.ask()
    volume.ingest()
    volume.timed(volume.drop)


class Volume:
    """One run's day, size and server."""

    def __init__(self, workspace: Workspace, report: Report) -> None:
        self.workspace = workspace
        self.report = report
        self.rows = int(os.environ.get("BENCH_VOLUME", "20000000"))
        self.day: date = datetime.now(UTC).date() - timedelta(days=1)
        self.table = partitions.partition_name(TRAFFIC, self.day)
        end = datetime.combine(self.day, datetime.min.time(), UTC) + timedelta(days=1)
        self.end = end
        self.start = end - timedelta(seconds=self.rows / RATE)

    def timed(self, step: Callable[[], Any]) -> None:
        """Tell how long a step took."""
        began = time.perf_counter()
        step()
        self.report.note(f"{step.__name__}: {time.perf_counter() - began:.0f} s")

    def fill(self) -> None:
        """Multiply events that were taken in as they come, in a table of its own."""
        self.sample()
        for first in range(0, self.rows, PIECE):
            self.multiply(first, min(first + PIECE, self.rows) - 1)
        self.count()

    def sample(self) -> None:
        """Take some events in, and make the table that is to be filled."""
        events = traffic_events(SAMPLE, datetime.now(UTC), days=0.0001, peers=PEERS)
        while some := list(islice(events, BATCH)):
            batches.ingest(TRAFFIC, orjson.dumps(some))
        _execute(_SAMPLE)
        _execute(
            f"CREATE TABLE {self.table} (LIKE {TRAFFIC.table} INCLUDING DEFAULTS,"
            " CHECK (time >= %s AND time < %s))",
            self.end - timedelta(days=1),
            self.end,
        )

    def multiply(self, first: int, last: int) -> None:
        """Write the events of these numbers."""
        _execute(_multiplied(self.table), self.start, first, last)

    def count(self) -> None:
        """Count the rows as ingest does."""
        names = ", ".join(TRAFFIC.tally_fields)
        tallies = TRAFFIC.tally_model._meta.db_table
        _execute(
            f'INSERT INTO {tallies} (day, {names}, "rows")'  # noqa: S608 - names from the catalogue
            f" SELECT %s, {names}, count(*) FROM {self.table} GROUP BY {names}",
            self.day,
        )

    def index(self) -> None:
        """Index the table as the stream's parts are, and make it one of them."""
        for number in range(len(self.indexes())):
            self.build(number)
        # It comes as a day does that was detached and not dropped; its sums are made by
        # the numbers of its events.
        partitions.ensure(TRAFFIC, {self.day})
        RollUpGap.objects.all().delete()

    def indexes(self) -> list[tuple[str, bool]]:
        """Return what each index of the stream is, and whether it is the primary key."""
        return [
            (text, bool(first)) for text, first in _fetched(_INDEXES, TRAFFIC.table)
        ]

    def build(self, number: int) -> None:
        """Build one index."""
        _execute("SET maintenance_work_mem = '1GB'")
        definition, primary = self.indexes()[number]
        columns = definition.partition(" USING ")[2]
        _execute(
            f"ALTER TABLE {self.table} ADD PRIMARY KEY {columns.removeprefix('btree ')}"
            if primary
            else f"CREATE INDEX ON {self.table} USING {columns}"
        )

    def settle(self) -> None:
        """Do what autovacuum does in the minutes after a load."""
        _execute(f"VACUUM ANALYZE {self.table}")

    def sum_up(self) -> None:
        """Make the sums by housekeeping's own code."""
        took = sum_up()
        self.report.at_most(
            "sums of a second's events", took / self.rows * RATE, 1, 0.15
        )
        _execute(f"VACUUM ANALYZE {TrafficRollUp._meta.db_table}")

    def sizes(self) -> None:
        """Tell what the rows take, and what a day of them would."""
        [[table, indexes]] = _fetched(
            "SELECT pg_table_size(%s::regclass), pg_indexes_size(%s::regclass)",
            *[self.table] * 2,
        )
        [[sums]] = _fetched(
            "SELECT pg_total_relation_size(%s::regclass)", TrafficRollUp._meta.db_table
        )
        for what, size in (("rows", table), ("indexes", indexes)):
            self.report.note(
                f"{what}: {size / self.rows:.0f} bytes each,"
                f" {size / self.rows * DAY_ROWS / 1e9:.0f} GB a day"
            )
        self.report.note(f"sums: {sums / 1e9:.2f} GB, {TrafficRollUp.objects.count()}")
        for name, size in _fetched(_INDEX_SIZES, self.table):
            self.report.note(f"  {size / 1e9:6.2f} GB {name}")

    def ask(self) -> None:
        """Tell what pages, filters, searches and summaries take, first and again."""
        server, token = self.workspace.server(), self.workspace.token()
        client = Connection(server.port)

        def get(path: str) -> int:
            status, body = client.exchange(request("GET", path, token))
            assert status in {200, 503}, body[:300]
            return status

        asked = [(name, f"{TRAFFIC_PATH}?{query}") for name, query in QUESTIONS]
        asked += [(name, self._summary(query)) for name, query in SUMMARIES]
        for name, path in asked:
            began = time.perf_counter()
            if get(path) != HTTPStatus.OK:
                self.report.note(f"no answer within the bound of a statement: {name}")
                continue
            first = time.perf_counter() - began
            again = median_seconds(lambda path=path: get(path), times=3)  # type: ignore[misc]
            figures = f"{again * 1000:8.0f} ms, first {first * 1000:8.0f}"
            self.report.note(f"{figures}: {name}")

    def _summary(self, query: str) -> str:
        start, end = self.start.replace(minute=0, second=0, microsecond=0), self.end
        query, short, _ = query.partition("&hours=1")
        if short:
            start = self.end - timedelta(hours=1)
        dates = {"start_date": start, "end_date": end - timedelta(microseconds=1)}
        span = "&".join(
            f"{name}={moment:%Y-%m-%dT%H:%M:%S.%fZ}" for name, moment in dates.items()
        )
        return f"{TRAFFIC_PATH}/summary?{query}&{span}"

    def ingest(self) -> None:
        """Add to the full day; the rate to keep up with is `RATE`."""
        token = self.workspace.token()
        client = Connection(self.workspace.server().port)
        events = traffic_events(
            20 * BATCH, self.end, days=0.01, first=8 * 10**7, peers=PEERS
        )
        took = []
        while some := list(islice(events, BATCH)):
            wanted = request("POST", TRAFFIC_PATH, token, orjson.dumps(some))
            began = time.perf_counter()
            status, body = client.exchange(wanted)
            took.append(time.perf_counter() - began)
            assert status == 200, body[:300]
        rate = len(took) * BATCH / sum(took)
        self.report.at_least("events taken in", rate, RATE, 3)

    def drop(self) -> None:
        """Drop the day as retention does."""
        partitions.drop(TRAFFIC, [self.day])


_SAMPLE: Final = f"""
    CREATE TABLE sample AS
    SELECT row_number() OVER (ORDER BY md5(id)) - 1 AS place,
           {", ".join(TRAFFIC.columns)},
           body::json->>'window_start' AS window_start,
           body::json->>'window_end' AS window_end
    FROM {TRAFFIC.table}
"""  # noqa: S608 - names from the catalogue

_INDEXES: Final = """
    SELECT pg_get_indexdef(indexrelid), indisprimary FROM pg_index
    WHERE indrelid = %s::regclass
"""

_INDEX_SIZES: Final = """
    SELECT indexrelid::regclass::text, pg_relation_size(indexrelid) FROM pg_index
    WHERE indrelid = %s::regclass ORDER BY 2 DESC
"""


def _multiplied(table: str) -> str:
    """Return the statement that writes events of their own ids and times."""
    body = "sample.body"
    for old, new in (("id", "new_id"), ("window_start", "at"), ("window_end", "at")):
        body = f"replace({body}, sample.{old}, {new})"
    changed = {"time": "moment", "id": "new_id", "body": body}
    return f"""
        INSERT INTO {table} ({", ".join(TRAFFIC.columns)})
        SELECT {", ".join(changed.get(name, name) for name in TRAFFIC.columns)}
        FROM (
            SELECT number, moment, substr(md5(number::text), 1, 20) AS new_id,
                   to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
            FROM (
                SELECT number, %s + number * interval '1 second' / {RATE} AS moment
                FROM generate_series(%s::bigint, %s::bigint) AS number
            ) AS numbered
        ) AS made JOIN sample ON place = number %% {SAMPLE}
    """  # noqa: S608 - names from the catalogue


def _execute(statement: str, *params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params or None)


def _fetched(statement: str, *params: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
