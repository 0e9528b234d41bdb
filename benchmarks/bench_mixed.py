"""Reads, small writes and ingest at once, by 1, 10 and 100 connections.

Of twelve requests nine are small reads, two change a record, one takes events in. Told are
rates, percentiles, refusals (503: too many wait for the write lock) and memory; held are
that nothing fails, and that many connections do not lower the rate of few.
"""

import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Final

from benchmarks.bench_peers import memory
from benchmarks.event_data import traffic_events
from benchmarks.load import Connection, request
from benchmarks.report import Report
from benchmarks.workspace import Workspace

CONNECTIONS: Final = (1, 10, 100)
SECONDS: Final = 6.0
SHARE: Final = 0.5
EVENTS: Final = 25
BATCHES: Final = 1200
BUSY: Final = 503
INGEST: Final = "/api/events/network-traffic"


@dataclass
class Load:
    """What some clients saw."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: list[bytes] = field(default_factory=list)


class Mix:
    """The requests of all clients, in an order that repeats."""

    def __init__(self, port: int, token: str) -> None:
        self._token = token
        self._numbers = count()
        self._batches = iter(_batches(token))
        zone = _get(port, token, "/api/dns/zones")[0]
        self._record = zone["records"][0]
        self._path = f"/api/dns/zones/{zone['id']}/records/{self._record['id']}"
        group = _get(port, token, "/api/groups")[-1]
        self._reads = [
            request("GET", path, token)
            for path in (
                "/api/users/current",
                f"/api/groups/{group['id']}",
                "/api/dns/nameservers",
            )
        ]

    def next(self) -> bytes:
        """Return the next request."""
        number = next(self._numbers)
        kind = number % 12
        if kind == 11:
            return next(self._batches)
        if kind in (3, 7):
            body = {**self._record, "ttl": 60 + number % 80_000}
            return request("PUT", self._path, self._token, json.dumps(body).encode())
        return self._reads[number % 3]


def run(workspace: Workspace, report: Report) -> None:
    """Report each number of connections, then what may not happen."""
    server = workspace.server()
    mix = Mix(server.port, workspace.token())
    rates: dict[int, float] = {}
    failed: list[bytes] = []
    for connections in CONNECTIONS:
        load = _under(server.port, mix, connections)
        rates[connections] = len(load.seconds) / SECONDS
        failed += load.failed
        report.note(f"{connections:3} connections: {_figures(load)}")
    assert server.process is not None
    peak = sum(memory(pid, "VmHWM") for pid in family(server.process.pid)) / 1024
    report.note(f"memory of all processes at their peak: {peak:.0f} MiB")
    if failed:
        report.note(f"first failure: {failed[0][:200]!r}")
    report.none_of("mixed load: failed requests", len(failed))
    few, many = rates[10], rates[100]
    report.at_least("mixed load: 100 connections against 10", many, few, SHARE)


def _under(port: int, mix: Mix, connections: int) -> Load:
    load, lock = Load(), Lock()
    deadline = time.perf_counter() + SECONDS

    def client(_: int) -> None:
        connection = Connection(port)
        while (begun := time.perf_counter()) < deadline:
            with lock:
                message = mix.next()
            status, body = connection.exchange(message)
            took = time.perf_counter() - begun
            with lock:
                if status == BUSY:
                    load.refused += 1
                elif status != 200:
                    load.failed.append(body)
                else:
                    load.seconds.append(took)
        connection.close()

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(client, range(connections)))  # raises what a client raised
    return load


def _figures(load: Load) -> str:
    cuts = statistics.quantiles(load.seconds, n=100)
    p50, p95, p99 = (cuts[place - 1] * 1000 for place in (50, 95, 99))
    return (
        f"{len(load.seconds) / SECONDS:6.0f} /s, p50 {p50:.1f} ms, p95 {p95:.1f} ms,"
        f" p99 {p99:.1f} ms, refused {load.refused}, failed {len(load.failed)}"
    )


def _batches(token: str) -> list[bytes]:
    events = list(traffic_events(EVENTS * BATCHES, datetime.now(UTC), days=0.5))
    return [
        request("POST", INGEST, token, json.dumps(events[at : at + EVENTS]).encode())
        for at in range(0, len(events), EVENTS)
    ]


def _get(port: int, token: str, path: str) -> Any:
    connection = Connection(port)
    status, body = connection.exchange(request("GET", path, token))
    connection.close()
    assert status == 200, body[:300]
    return json.loads(body)


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(member for child in children for member in family(int(child)))]
