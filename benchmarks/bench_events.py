"""The event streams at size: ingest, big pages, filters, deep pages, audit lists.

100,000 traffic events and as many log entries (BENCH_EVENTS changes it); every reference
is measured in the same run.
"""

import csv
import json
import os
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson
import psycopg
from django.db import connection

from benchmarks.event_data import proxy_entries, traffic_events
from benchmarks.event_drops import drop_while_ingesting
from benchmarks.event_shippers import shippers
from benchmarks.event_summaries import cost_of_sums, summaries
from benchmarks.load import Connection, request
from benchmarks.report import Report, alternating_medians, median_seconds
from benchmarks.workspace import Workspace
from events.api.serializers import TrafficEventSerializer
from events.audit.rows import LIST_COLUMNS
from events.models import AuditEvent, TrafficEvent
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.pages import columns
from tests.processes import descendants

Maker = Callable[..., Iterator[dict[str, Any]]]
"""Makes events: how many, up to which time, within how many days, from which number."""

BATCH: Final = 5000
EARLY: Final = 100_000
BIG_PAGE: Final = 50_000
TRAFFIC_PATH: Final = "/api/events/network-traffic"
PROXY_PATH: Final = "/api/events/proxy"

_NEWEST: Final = "SELECT body FROM events_trafficevent ORDER BY time DESC, id DESC"

TRAFFIC_QUESTIONS: Final = (
    "user_id=u0000000000000000007",
    "reporter_id=p0000000000000000007",
    "source_id=p0000000000000000007",
    "destination_id=p0000000000000000008",
    "protocol=17",
    "type=TYPE_DROP",
    "connection_type=ROUTED",
    "direction=INGRESS",
    "search=user007",
    "search=100.64.0.77",
    "search=service-07",
    "start_date={day}",
    "user_id=u0000000000000000007&type=TYPE_DROP",
    "source_id=p0000000000000000007&destination_id=p0000000000000000008",
    "search=user007&protocol=6",
    "start_date={day}&connection_type=ROUTED",
)
PROXY_QUESTIONS: Final = (
    "host=app-07.example.com",
    "method=POST",
    "status_code=401",
    "status=failed",
    "source_ip=198.51.7.7",
    "path=/items/421/",
    "user_id=u0000000000000000007",
    "search=/items/421/",
    "search=198.51.7.77",
    "host=app-07.example.com&status=failed",
    "source_ip=198.51.7.7&status_code=401",
    "start_date={day}&status_code=500",
)


def run(workspace: Workspace, report: Report) -> None:
    """Fill the streams over HTTP, then ask."""
    bench = EventsBench(workspace, report)
    bench.ingest(TRAFFIC, TRAFFIC_PATH, traffic_events)
    bench.ingest(PROXY, PROXY_PATH, proxy_entries)
    bench.settle()
    shippers(bench)
    bench.big_page()
    bench.exports()
    bench.page_of_a_thousand()
    bench.questions(TRAFFIC_PATH, TRAFFIC_QUESTIONS, 1000)
    bench.questions(PROXY_PATH, PROXY_QUESTIONS, 100)
    bench.last_page()
    summaries(bench, TRAFFIC_PATH)
    cost_of_sums(bench)
    bench.audit()
    bench.ways_to_make_a_page()
    drop_while_ingesting(bench, TRAFFIC, TRAFFIC_PATH, traffic_events)
    drop_while_ingesting(bench, PROXY, PROXY_PATH, proxy_entries)


class EventsBench:
    """One run's server, token and sizes."""

    def __init__(self, workspace: Workspace, report: Report) -> None:
        self.report = report
        self.postgresql = workspace.vendor == "postgresql"
        self.rows = int(os.environ.get("BENCH_EVENTS", "100000"))
        self.environment = workspace.environment
        self.token = workspace.token()
        self.server = workspace.server()
        self.now = datetime.now(UTC)
        self.day = (self.now - timedelta(days=1)).date().isoformat()

    def connect(self) -> Connection:
        """Return a new connection to the server."""
        return Connection(self.server.port)

    def get(self, client: Connection, path: str) -> bytes:
        """Return the body of an answer that must be a success."""
        status, body = client.exchange(request("GET", path, self.token))
        assert status == 200, body[:300]
        return body

    def ingest(self, stream: Stream, path: str, make: Maker) -> None:
        """Fill a stream batch by batch; compare with a bare COPY into the same table."""
        client = self.connect()
        took: list[float] = []
        events = make(self.rows + 10 * BATCH, self.now)
        for _ in range(self.rows // BATCH):
            body = orjson.dumps(list(islice(events, BATCH)))
            started = time.perf_counter()
            status, answer = client.exchange(request("POST", path, self.token, body))
            took.append(time.perf_counter() - started)
            assert status == 200, answer[:300]
        early = took[: min(len(took), EARLY // BATCH)][-5:]
        late = took[-5:]
        name = f"{stream.name} ingest"
        self.report.at_least(
            f"{name}, {self.rows} rows against {EARLY}",
            BATCH / statistics.median(late),
            BATCH / statistics.median(early),
            0.6,
        )
        if not self.postgresql:
            self.report.note(f"{name}: {BATCH / statistics.median(late):.0f} events/s")
            return
        bare = []
        for _ in range(5):
            checked = batches.check_batch(stream, list(islice(events, BATCH)), self.now)
            rows = [stream.row(event) for event in checked]
            bare.append(self._bare_copy(stream, rows))
        self.report.at_least(
            f"{name} over HTTP against bare COPY",
            BATCH / statistics.median(late),
            BATCH / statistics.median(bare),
            1 / 3,
        )

    def _bare_copy(self, stream: Stream, rows: list[Any]) -> float:
        statement = (
            f"COPY {stream.table} ({', '.join(stream.columns)})"
            " FROM STDIN (FORMAT binary)"
        )
        with psycopg.connect(self.environment["SVC_DATABASE_URL"]) as bare:
            started = time.perf_counter()
            with bare.cursor().copy(statement) as copy:
                copy.set_types(stream.pg_types)
                for row in rows:
                    copy.write_row(row)
            bare.commit()
            took = time.perf_counter() - started
            # Keeps the tallies, which this way of writing knows nothing of, right.
            bare.execute(
                f"DELETE FROM {stream.table} WHERE id = ANY(%s)",  # noqa: S608 - own table
                [[row.id for row in rows]],
            )
        return took

    def settle(self) -> None:
        """Do what autovacuum does in the minutes after a load."""
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE" if self.postgresql else "ANALYZE")
            if self.postgresql:
                cursor.execute(
                    "SELECT sum(pg_table_size(inhrelid)), sum(pg_indexes_size(inhrelid))"
                    " FROM pg_inherits WHERE inhparent = 'events_trafficevent'::regclass"
                )
                table, indexes = (int(size) // self.rows for size in cursor.fetchone())
                self.report.note(
                    f"traffic: {table} bytes a row, {indexes} more in indexes"
                )

    def big_page(self) -> None:
        """A page of 50,000 events against psql (or sqlite3) writing the same text."""
        path = f"{TRAFFIC_PATH}?page_size={BIG_PAGE}"
        # Fresh workers: memory they got for earlier work would hide what a page takes.
        self.server.stop()
        self.server.start()
        with self._peak_memory() as grown:
            size = len(self.get(self.connect(), path))
        name = "memory of a worker for that page, against the body (GB)"
        self.report.at_most(name, grown[0] / 1e9, size / 1e9, 3)
        client = self.connect()
        plain = f"{_NEWEST} LIMIT {BIG_PAGE}"
        ours, theirs = alternating_medians(
            lambda: self.get(client, path), lambda: self._plain(plain), times=7
        )
        name = f"page of {BIG_PAGE} over HTTP"
        self.report.at_most(name, ours, theirs, 1.5, guard=2.1)

    def exports(self) -> None:
        """All events as NDJSON and CSV against what the database's client writes."""
        rows = TrafficEvent.objects.count()
        url = f"{self.server.url}{TRAFFIC_PATH}"
        token = f"Authorization: Token {self.token}"
        plainly = {"application/x-ndjson": _NEWEST, "text/csv": self._columns()}
        for kind, plain in plainly.items():
            command = ["curl", "-sf", "-H", token, "-H", f"Accept: {kind}", url]
            whole = subprocess.run(command, check=True, capture_output=True).stdout
            assert whole.count(b"\n") >= rows
            ours, theirs = alternating_medians(
                partial(subprocess.run, [*command, "-o", os.devnull], check=True),
                partial(self._plain, plain, columns=kind == "text/csv"),
                times=3,
            )
            name = f"export of {rows} rows as {kind}"
            self.report.at_least(name, rows / ours, rows / theirs, 0.5, guard=0.45)

    def _columns(self) -> str:
        """Return a query for each value of the texts, newest first."""
        paths = list(columns(TRAFFIC.kind))
        if self.postgresql:
            values = ", ".join(f"body #>> '{{{','.join(path)}}}'" for path in paths)
            texts = _NEWEST.replace("body", "body::jsonb AS body", 1)
            return f"SELECT {values} FROM ({texts} OFFSET 0) AS texts"  # noqa: S608 - constants
        values = ", ".join(f"body ->> '$.{'.'.join(path)}'" for path in paths)
        return _NEWEST.replace("body", values, 1)

    def _plain(self, select: str, *, columns: bool = False) -> None:
        """Let the database's client write texts, or columns as CSV."""
        if self.postgresql:
            url = self.environment["SVC_DATABASE_URL"]
            form = "(FORMAT csv)" if columns else ""
            command = ["psql", url, "-qc", f"COPY ({select}) TO STDOUT {form}"]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                while process.stdout.read(1 << 20):
                    pass
            assert process.returncode == 0
            return
        reader = sqlite3.connect(str(connection.settings_dict["NAME"]))
        found = reader.execute(select)
        with Path(os.devnull).open("w", encoding="utf-8") as out:
            if columns:
                csv.writer(out).writerows(found)
            else:
                out.writelines(text for (text,) in found)
        reader.close()

    @contextmanager
    def _peak_memory(self) -> Iterator[list[int]]:
        """Yield a list that gets the greatest growth of a worker, in bytes."""
        workers = descendants(self.server.process.pid) if self.server.process else set()
        before = {}
        for pid in workers:
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
            before[pid] = _status(pid, "VmRSS")
        grown: list[int] = []
        yield grown
        grown.append(max(_status(pid, "VmHWM") - before[pid] for pid in workers))

    def page_of_a_thousand(self) -> None:
        """The default page's p95 against an authenticated view that does nothing."""
        client = self.connect()
        empty = request("POST", "/api/bench/empty", self.token, b"{}")
        page = request("GET", TRAFFIC_PATH, self.token)
        took: dict[bytes, list[float]] = {empty: [], page: []}
        for _ in range(300):
            for wanted, durations in took.items():
                started = time.perf_counter()
                status, body = client.exchange(wanted)
                durations.append(time.perf_counter() - started)
                assert status == 200, body[:300]
        ours, theirs = (statistics.quantiles(took[w], n=20)[-1] for w in (page, empty))
        self.report.at_most(
            "page of 1000, p95 against an empty view", ours, theirs, 5, guard=7.5
        )

    def questions(self, path: str, questions: tuple[str, ...], size: int) -> None:
        """Each filter's first page with its total against the unfiltered one."""
        plain = f"{path}?page_size={size}"
        for question in questions:
            asked = f"{plain}&{question.format(day=self.day)}"
            ours, theirs = self._against(asked, plain)
            stream = path.rsplit("/", maxsplit=1)[-1]
            self.report.at_most(
                f"{stream}: {question.format(day='yesterday')}", ours, theirs, 10
            )
        for text in ("100.64.0.7", "app-07", "example.com"):
            broad = f"{plain}&search={quote(text)}"
            total = json.loads(self.get(self.connect(), broad))["total_records"]
            seconds = median_seconds(
                lambda broad=broad: self.get(self.connect(), broad),  # type: ignore[misc]
                times=3,
            )
            self.report.note(f"search={text}, {total} found: {seconds * 1000:.0f} ms")

    def last_page(self) -> None:
        """The last page that the totals reach against the first one."""
        for path, size in ((TRAFFIC_PATH, 1000), (PROXY_PATH, 100)):
            first = f"{path}?page_size={size}"
            pages = json.loads(self.get(self.connect(), first))["total_pages"]
            title = f"{path.rsplit('/', maxsplit=1)[-1]}: last of {pages} pages"
            self.report.at_most(
                title, *self._against(f"{first}&page={pages}", first), 5
            )
            middle, _ = self._against(f"{first}&page={pages // 2}", first)
            self.report.note(f"the page in the middle: {middle * 1000:.0f} ms")

    def _against(self, path: str, reference: str) -> tuple[float, float]:
        """Return the medians of two requests that take turns, in seconds."""
        client = self.connect()
        return alternating_medians(
            lambda: self.get(client, path), lambda: self.get(client, reference), times=5
        )

    def audit(self) -> None:
        """The list of 10,000 audit events against bare SQL and json.dumps."""
        AuditEvent.objects.bulk_create(
            (
                AuditEvent(
                    activity_code="group.update",
                    initiator_id=f"user-{number % 50}",
                    initiator_name=f"User {number % 50}",
                    initiator_email=f"user{number % 50}@example.com",
                    target_id=f"group-{number % 300}",
                    meta={"old_name": f"a{number}", "new_name": f"b{number}"},
                )
                for number in range(20_000)
            ),
            batch_size=500,
        )
        client = self.connect()

        def bare() -> None:
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SELECT {', '.join(LIST_COLUMNS)} FROM events_auditevent"  # noqa: S608 - own columns
                    " ORDER BY timestamp DESC, id DESC LIMIT 10000"
                )
                rows = [dict(zip(LIST_COLUMNS, row, strict=True)) for row in cursor]
            json.dumps(rows, default=str)

        ours, theirs = alternating_medians(
            lambda: self.get(client, "/api/events/audit"), bare
        )
        self.report.at_most("audit list of 10000", ours, theirs, 3)

    def ways_to_make_a_page(self) -> None:
        """Figures for docs/decisions: what else could make a page of 50,000."""
        newest = TrafficEvent.objects.order_by("-time", "-id")

        def serializers() -> None:
            contents: Any = [
                orjson.loads(text)
                for text in newest.values_list("body", flat=True)[:BIG_PAGE]
            ]
            orjson.dumps(TrafficEventSerializer(contents, many=True).data)

        def rows_and_orjson() -> None:
            contents = [
                orjson.loads(text)
                for text in newest.values_list("body", flat=True)[:BIG_PAGE]
            ]
            orjson.dumps(contents)

        for name, way in (
            ("DRF serializers, orjson", serializers),
            ("rows, built and dumped with orjson", rows_and_orjson),
        ):
            started = time.perf_counter()
            way()
            took = time.perf_counter() - started
            self.report.note(f"page of {BIG_PAGE} by {name}: {took:.2f} s")


def _status(pid: int, name: str) -> int:
    """Return a memory figure of a process, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)
