"""Agents, flows, reads, writes, time travel, exports and housekeeping, all at once.

2,000 agents hold their streams, 200 flows a second come in, ten small reads and two
changes a second are asked for, one of them in ten of a membership that other agents must
be told of; beside that `?at=` every three seconds, an export of all flows every fifteen,
and the housekeeping process. A minute by default, BENCH_TOGETHER says how many seconds.
"""

import json
import os
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import quote

from benchmarks.bench_mixed import INGEST, family
from benchmarks.bench_peers import Process, give_keys, memory, started, wait_for_port
from benchmarks.event_data import traffic_events
from benchmarks.report import Report
from benchmarks.workspace import Workspace
from tests.servers import free_port

SECONDS: Final = max(20, int(os.environ.get("BENCH_TOGETHER", "45")))
SETTLE: Final = 5.0
AGENTS: Final = 2000
PATIENCE: Final = 120.0
BATCH: Final = 100
SMALL_SECONDS: Final = 0.5
GROWTH_LIMIT: Final = 1.15
"""Of all processes' memory, from a third of the time to its end."""


class Everybody:
    """All who ask, each in a thread and at a pace of its own, and what they saw."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.headers = {"Authorization": f"Token {token}"}
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.answers: dict[str, Counter[int]] = defaultdict(Counter)
        self.began = datetime.now(UTC)
        self._stop = threading.Event()
        self._loops: list[Callable[[], None]] = []

    def ask(self, what: str, method: str, path: str, body: Any = None) -> Any:
        """Ask on a connection of its own, and note how long that took."""
        http = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = None if body is None else json.dumps(body)
        form = "application/x-ndjson" if what == "exports" else "application/json"
        headers = self.headers | {"Content-Type": "application/json", "Accept": form}
        begun = time.perf_counter()
        http.request(method, path, data, headers)
        answer = http.getresponse()
        text = answer.read()
        self.seconds[what].append(time.perf_counter() - begun)
        self.answers[what][answer.status] += 1
        http.close()
        return None if what == "exports" else json.loads(text)

    def every(self, pause: float, do: Callable[[int], object]) -> None:
        """Do something over and over until all stop, not faster than every `pause`."""

        def loop() -> None:
            number = 0
            while not self._stop.wait(pause if number else 0):
                do(number)
                number += 1

        self._loops.append(loop)

    def work(self, seconds: float, half_way: Callable[[], object]) -> None:
        """Let all of them work, and call `half_way` after a third of the time."""
        with ThreadPoolExecutor(len(self._loops)) as pool:
            begun = [pool.submit(loop) for loop in self._loops]
            try:
                wait(begun, seconds / 3, FIRST_EXCEPTION)
                half_way()
                wait(begun, seconds * 2 / 3, FIRST_EXCEPTION)
            finally:
                self._stop.set()
            for each in begun:
                each.result()  # raises what it raised


def run(workspace: Workspace, report: Report) -> None:
    """Let all work, then tell of what they saw and what it took."""
    give_keys(AGENTS)
    server, port = workspace.server(), free_port()
    environment = {
        **workspace.environment,
        "SVC_GRPC_BIND": f"127.0.0.1:{port}",
        "SVC_RUNTIME_DIR": str(workspace.folder / "peers-run"),
    }
    crowd = ("-m", "benchmarks.agents", f"http://127.0.0.1:{port}", str(AGENTS))
    with (
        started(environment, "manage.py", "serve_peers") as peers,
        started(
            environment | {"SVC_METRICS_PORT": "off"}, "manage.py", "housekeeping"
        ) as keeper,
        started(environment, *crowd) as agents,
    ):
        wait_for_port(environment)
        at = agents.ask("connect")["at"]
        found = agents.ask("await", at, AGENTS, PATIENCE)
        assert found["number"] == AGENTS, found
        all_ = Everybody(server.port, workspace.token())
        _plan(all_)
        assert server.process is not None
        roots = [server.process.pid, peers.popen.pid, keeper.popen.pid]
        early: list[float] = []
        all_.work(SECONDS, lambda: early.append(_memory(roots)))
        _tell(report, all_)
        late = _memory(roots)
        report.at_most(
            "memory of all processes, end against a third (MiB as s)",
            late,
            early[0],
            GROWTH_LIMIT,
        )
        _last_change(report, all_, agents, found["breaks"])


def _plan(all_: Everybody) -> None:
    zone = all_.ask("setting up", "GET", "/api/dns/zones")[0]
    record = zone["records"][0]
    path = f"/api/dns/zones/{zone['id']}/records/{record['id']}"
    group = all_.ask("setting up", "GET", "/api/groups")[-1]
    members = [peer["id"] for peer in group["peers"]]
    reads = ("/api/users/current", f"/api/groups/{group['id']}", "/api/dns/nameservers")

    def change(number: int) -> None:
        if number % 10:
            body = {**record, "ttl": 60 + number % 80_000}
            all_.ask("small writes", "PUT", path, body)
        else:
            kept = members[number // 10 % 2 :]
            body = {"name": group["name"], "peers": kept}
            all_.ask("memberships", "PUT", f"/api/groups/{group['id']}", body)

    def flows(number: int) -> None:
        events = traffic_events(BATCH, datetime.now(UTC), 0.01, number * BATCH)
        all_.ask("flows", "POST", INGEST, list(events))

    def past(_: int) -> None:
        moment = max(all_.began, datetime.now(UTC) - timedelta(minutes=5))
        path = f"/api/groups?at={quote(moment.isoformat())}"
        all_.ask("groups of five minutes ago", "GET", path)

    all_.every(0.1, lambda n: all_.ask("small reads", "GET", reads[n % 3]))
    all_.every(0.5, change)
    all_.every(0.5, flows)
    all_.every(3, past)
    all_.every(15, lambda _: all_.ask("exports", "GET", INGEST))


def _tell(report: Report, all_: Everybody) -> None:
    for what, seconds in all_.seconds.items():
        cuts = statistics.quantiles(seconds, n=20, method="inclusive")
        report.note(
            f"{what}: {len(seconds)} answers, p50 {cuts[9] * 1000:.0f} ms,"
            f" p95 {cuts[18] * 1000:.0f} ms, {dict(all_.answers[what])}"
        )
    refused = sum(
        count
        for statuses in all_.answers.values()
        for status, count in statuses.items()
        if status != 200
    )
    report.none_of("all at once: other answers than 200", refused)
    for what in ("small reads", "small writes"):
        p95 = statistics.quantiles(all_.seconds[what], n=20)[-1]
        report.at_most(f"{what}, p95", p95, SMALL_SECONDS, 1)


def _last_change(report: Report, all_: Everybody, agents: Process, breaks: int) -> None:
    """Report that all agents are still there: a change for all reaches them."""
    settings = all_.ask("the end", "GET", "/api/dns/settings")
    everybody = all_.ask("the end", "GET", "/api/groups?name=All")[0]["id"]
    all_.ask(
        "the end",
        "PUT",
        "/api/dns/settings",
        settings | {"disabled_management_groups": []},
    )
    body = {"name": "for all", "description": "", "enabled": True, "primary": False,
            "nameservers": [{"ip": "10.9.9.9", "ns_type": "udp", "port": 53}],
            "groups": [everybody], "domains": ["bench.internal"],
            "search_domains_enabled": False}  # fmt: skip
    time.sleep(SETTLE)
    since = time.monotonic()
    all_.ask("the end", "POST", "/api/dns/nameservers", body)
    found = agents.ask("await", since, AGENTS, PATIENCE)
    report.none_of(
        "agents that a change for all did not reach", AGENTS - found["number"]
    )
    report.none_of("streams that broke", found["breaks"] - breaks)


def _memory(roots: list[int]) -> float:
    """Return what processes and all below them have resident, in MiB."""
    pids = [pid for root in roots for pid in family(root)]
    return sum(memory(pid, "VmRSS") for pid in pids) / 1024
