"""Connected peers: changes for all and for some, a storm, memory, the API meanwhile."""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.db import connection

from benchmarks import load
from benchmarks.agents import private_key
from benchmarks.changes import Api
from benchmarks.report import Report
from benchmarks.workspace import Workspace
from meshmgmt.control.agent import Agent
from meshmgmt.control.services import sessions
from meshmgmt.core.transactions import queued_write
from meshmgmt.env import BASE_DIR
from meshmgmt.inventory.models import Peer
from observability.metrics.processes import read_process
from tests.servers import free_port

AGENTS: Final = int(os.environ.get("BENCH_AGENTS", "5000"))
PATIENCE: Final = 300.0
SETTLE: Final = 3.0
PUSH_LIMIT: Final = 3.0
PUSH_GUARD: Final = 3.6
SOME_SECONDS: Final = 0.5
FIRST_SECONDS: Final = 1.0
LAST_SECONDS: Final = 20.0
API_LIMIT: Final = 3.0
API_GUARD: Final = 6.0
KIB_PER_AGENT: Final = 120.0
PEAK_LIMIT: Final = 2.0
FEWEST: Final = 20


@dataclass
class Process:
    """A process that takes lines and answers each with one of JSON."""

    popen: "subprocess.Popen[str]"

    def ask(self, *words: object) -> dict[str, Any]:
        """Send a line and return the answer."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(" ".join(map(str, words)) + "\n")
        self.popen.stdin.flush()
        return self.read()

    def read(self) -> dict[str, Any]:
        """Return the next answer."""
        assert self.popen.stdout is not None
        return dict(json.loads(self.popen.stdout.readline()))


@contextmanager
def started(environment: dict[str, str], *arguments: str) -> Iterator[Process]:
    """Run a module of the benchmarks, or manage.py, until the block ends."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        try:
            yield Process(popen)
        finally:
            assert popen.stdin is not None
            popen.stdin.close()  # ends the modules
            if arguments[0] == "manage.py":
                popen.send_signal(signal.SIGINT)


def memory(pid: int, name: str) -> float:
    """Return `VmRSS` or `VmHWM` (the peak) of a process in KiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in text.splitlines() if line.startswith(name)]
    return float(line.split()[1])


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    process = read_process(pid)
    assert process is not None
    return process.cpu


class ApiLatency(threading.Thread):
    """Asks for the list of groups over and over and notes how long that takes."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.message = load.request("GET", "/api/groups", token)
        self.stopping = threading.Event()
        self.durations: list[float] = []

    def run(self) -> None:
        """Ask until stopped, twenty times a second at most."""
        client = load.Connection(self.port)
        while not self.stopping.is_set():
            begun = time.perf_counter()
            status, _ = client.exchange(self.message)
            assert status == 200
            self.durations.append(time.perf_counter() - begun)
            self.stopping.wait(0.05)
        client.close()

    def p95(self) -> float:
        """Stop and return the 95th percentile in seconds."""
        while len(self.durations) < FEWEST:
            time.sleep(0.1)
        self.stopping.set()
        self.join()
        return statistics.quantiles(self.durations, n=20)[-1]


def run(workspace: Workspace, report: Report) -> None:
    """Measure with 5,000 agents in a process of their own, that only read bytes."""
    give_keys(AGENTS)
    server = workspace.server()
    port = free_port()
    environment = {
        **workspace.environment,
        "SVC_GRPC_BIND": f"127.0.0.1:{port}",
        "SVC_RUNTIME_DIR": str(workspace.folder / "peers-run"),
    }
    crowd = ("-m", "benchmarks.agents", f"http://127.0.0.1:{port}", str(AGENTS))
    with (
        started(environment, "manage.py", "serve_peers") as peers,
        started(environment, *crowd) as agents,
    ):
        wait_for_port(environment)
        api = Api(server.port, workspace.token())
        bench = _Bench(report, api, agents, peers.popen.pid)
        bench.storm()
        sizes = agents.ask("sizes")["sizes"]
        with _canned(environment, sizes, workspace.folder) as canned:
            bench.change_for_all(canned)
        bench.change_for_some()


def give_keys(count: int) -> None:
    """Give so many peers keys whose private half the agents know."""
    ids = list(Peer.objects.order_by("id").values_list("pk", flat=True)[:count])
    rows = [
        (Agent("http://localhost:1", private_key=private_key(n)).public_key, peer_id)
        for n, peer_id in enumerate(ids)
    ]
    with queued_write(), connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE inventory_peer SET wg_public_key = %s WHERE id = %s", rows
        )
    # A restart finds peers that report what they reported before.
    for number, (key, _) in enumerate(rows):
        agent = Agent("http://localhost:1", private_key=private_key(number))
        sessions.open_sync(key, agent.meta, "127.0.0.1")


def wait_for_port(environment: dict[str, str]) -> None:
    path = Path(environment["SVC_RUNTIME_DIR"]) / "peers.json"
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, "peers are not served"
        time.sleep(0.1)


@contextmanager
def _canned(
    environment: dict[str, str], sizes: dict[str, int], folder: Path
) -> Iterator[Callable[[], float]]:
    """Yield what pushes messages of these sizes, without computing them, to as many agents.

    It returns after how many seconds the last one had its message. Beside the server that
    is measured, so that both have the same share of the machine.
    """
    port = free_port()
    path = folder / "sizes.json"
    path.write_text(json.dumps(sizes))
    crowd = ("-m", "benchmarks.agents", f"http://127.0.0.1:{port}", str(AGENTS))
    server = ("-m", "benchmarks.canned", str(port), str(path))
    with (
        started(environment, *server) as canned,
        started(environment, *crowd) as agents,
    ):
        canned.read()
        at = agents.ask("connect")["at"]
        agents.ask("await", at, AGENTS, PATIENCE)

        def push() -> float:
            at = canned.ask("push")["at"]
            return float(agents.ask("await", at, AGENTS, PATIENCE)["last"])

        yield push


@dataclass
class _Bench:
    report: Report
    api: Api
    agents: Process
    pid: int

    def storm(self) -> None:
        """Let all connect at once, over a server that has its maps; twice."""
        api = ApiLatency(self.api.port, self.api.token)
        api.start()
        time.sleep(SETTLE)
        idle_p95 = api.p95()
        empty = memory(self.pid, "VmRSS")
        self._connect()
        self.agents.ask("drop")
        time.sleep(SETTLE)
        api = ApiLatency(self.api.port, self.api.token)
        api.start()
        found = self._connect()
        storm_p95 = api.p95()
        peak = memory(self.pid, "VmHWM")
        time.sleep(SETTLE)
        idle = memory(self.pid, "VmRSS")
        self.report.at_most(
            f"storm of {AGENTS}: first map", found["first"], FIRST_SECONDS, 1
        )
        self.report.at_most(
            f"storm of {AGENTS}: last map", found["last"], LAST_SECONDS, 1
        )
        self.report.at_most(
            "list of groups, p95, in the storm against idle",
            storm_p95,
            idle_p95,
            API_LIMIT,
            guard=API_GUARD,
        )
        per_agent = (idle - empty) / AGENTS
        self.report.note(
            f"memory: {empty / 1024:.0f} MiB without agents, {idle / 1024:.0f} MiB idle"
            f" with {AGENTS} ({per_agent:.0f} KiB each), peak {peak / 1024:.0f} MiB"
        )
        self.report.at_most(
            "resident memory per idle agent (KiB as ms)",
            per_agent / 1000,
            KIB_PER_AGENT / 1000,
            1,
        )
        self.report.at_most(
            "memory, peak in the storm against idle (MiB as s)",
            peak / 1024,
            idle / 1024,
            PEAK_LIMIT,
        )

    def _connect(self) -> dict[str, Any]:
        used = cpu_seconds(self.pid)
        at = self.agents.ask("connect")["at"]
        found = self.agents.ask("await", at, AGENTS, PATIENCE)
        assert found["number"] == AGENTS, found
        assert found["breaks"] == 0, "some were sent away"
        each = (cpu_seconds(self.pid) - used) / AGENTS * 1000
        mean = found["bytes"] / AGENTS / 1000
        self.report.note(
            f"{AGENTS} connected: first map after {found['first']:.2f} s, last after "
            f"{found['last']:.2f} s, {mean:.0f} kB and {each:.1f} ms of CPU each"
        )
        return found

    def change_for_all(self, canned: Callable[[], float]) -> None:
        """Change something for all, each time after canned messages were pushed."""
        self.api.manage_all_dns()
        durations, pushes = [], []
        for address in ("10.9.9.8", "10.9.9.7", "10.9.9.6"):
            time.sleep(SETTLE)
            pushes.append(canned())
            used = cpu_seconds(self.pid)
            found = self._told(partial(self.api.resolve_by, address), AGENTS, PATIENCE)
            assert found["number"] == AGENTS, found
            durations.append(found["last"])
            self.report.note(
                f"one change for all: first {found['first']:.2f} s, "
                f"last {found['last']:.2f} s, "
                f"{(cpu_seconds(self.pid) - used) / AGENTS * 1000:.1f} ms of CPU each"
            )
        self.report.at_most(
            "one change for all, last agent, against pushing canned messages",
            statistics.median(durations),
            statistics.median(pushes),
            PUSH_LIMIT,
            guard=PUSH_GUARD,
        )

    def _told(
        self, change: Callable[[], object], number: int, seconds: float
    ) -> dict[str, Any]:
        """Change something; return when agents were told, counted from the answer.

        The first ones may be told before that.
        """
        since = time.monotonic()
        change()
        answered = time.monotonic()
        found = self.agents.ask("await", since, number, seconds)
        for name in ("first", "last"):
            found[name] -= answered - since
        return found

    def change_for_some(self) -> None:
        """Change something that about 200 see."""
        durations = []
        for number in range(3):
            time.sleep(SETTLE)
            peer = self.api.ask("GET", "/api/peers")[100 + number]
            path = f"/api/peers/{peer['id']}"
            seeing = len(self.api.ask("GET", f"{path}/accessible-peers"))
            body = {**peer, "name": f"renamed-{number}"}
            found = self._told(partial(self.api.ask, "PUT", path, body), seeing, 5)
            durations.append(found["last"])
            self.report.note(
                f"one peer renamed, which {seeing} see: {found['number']} told, "
                f"last after {found['last']:.2f} s"
            )
        self.report.at_most(
            "a change that about 200 see: last agent",
            statistics.median(durations),
            SOME_SECONDS,
            1,
        )
