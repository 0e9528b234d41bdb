"""Processes for peers on two hosts behind nginx: a change against one host, a host's death.

One host serves 2,000 agents alone, then both serve as many each, then one is killed. It
needs root, for network namespaces, and PostgreSQL. BENCH_AGENTS says how many agents.
"""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from benchmarks.bench_peers import Process, give_keys, started
from benchmarks.changes import Api
from benchmarks.report import Report
from benchmarks.workspace import Workspace
from tests.control.peerhosts import PeerHost, nginx_before, peer_host

EACH: Final = int(os.environ.get("BENCH_AGENTS", "2000"))
TIMES: Final = 3
SETTLE: Final = 3.0
PATIENCE: Final = 120.0
LIMIT: Final = 2.0


def run(workspace: Workspace, report: Report) -> None:
    """Measure one host, then two, then what is left of them."""
    if workspace.vendor != "postgresql":
        report.note("several processes for peers need PostgreSQL")
        return
    give_keys(2 * EACH)
    server = workspace.server()
    bench = _Bench(workspace, report, Api(server.port, workspace.token()))
    bench.api.manage_all_dns()
    with peer_host(server, 1) as first, peer_host(server, 2) as second:
        with bench.crowds([first]) as crowds:
            alone = bench.change(crowds)
        with bench.crowds([first, second]) as crowds:
            both = bench.change(crowds)
            report.at_most(
                f"a change for {EACH} agents each at two hosts against one host",
                both,
                alone,
                LIMIT,
            )
            bench.death(first, second)
            bench.change(crowds)


class _Bench:
    def __init__(self, workspace: Workspace, report: Report, api: Api) -> None:
        self.workspace = workspace
        self.report = report
        self.api = api
        self._changes = 0

    @contextmanager
    def crowds(self, hosts: list[PeerHost]) -> Iterator[list[Process]]:
        """Yield as many crowds as hosts, all connected through nginx."""
        folder = self.workspace.folder / f"nginx-{len(hosts)}"
        with ExitStack() as stack:
            url = stack.enter_context(nginx_before(folder, hosts))
            crowds = [
                stack.enter_context(
                    started(
                        self.workspace.environment,
                        *("-m", "benchmarks.agents", url, str(EACH), str(n * EACH)),
                    )
                )
                for n in range(len(hosts))
            ]
            begun = [crowd.ask("connect")["at"] for crowd in crowds]
            last = _last(crowds, begun[0])
            _await_streams(hosts, len(hosts) * EACH)
            spread = ", ".join(str(host.connected) for host in hosts)
            self.report.note(
                f"{len(hosts)} hosts: all connected after {last:.1f} s ({spread})"
            )
            yield crowds

    def change(self, crowds: list[Process]) -> float:
        """Return after how many seconds the last agent was told of a change; a median."""
        found = []
        for _ in range(TIMES):
            time.sleep(SETTLE)
            self._changes += 1
            since = time.monotonic()
            self.api.resolve_by(f"10.9.9.{self._changes}")
            found.append(_last(crowds, since))
        text = ", ".join(f"{seconds:.2f}" for seconds in found)
        self.report.note(
            f"a change for {EACH * len(crowds)} agents: last after {text} s"
        )
        return statistics.median(found)

    def death(self, first: PeerHost, second: PeerHost) -> None:
        """Kill a host and wait until its agents are back at the other."""
        orphans = second.connected
        begun = time.monotonic()
        second.kill()
        _await_streams([first], 2 * EACH)
        self.report.none_of(
            "agents of a killed host that did not come back", 2 * EACH - first.connected
        )
        self.report.note(
            f"{orphans} agents of a killed host were back at the other after"
            f" {time.monotonic() - begun:.1f} s"
        )


def _await_streams(hosts: list[PeerHost], number: int) -> None:
    """Wait until hosts say that they have so many streams, which they do each second."""
    deadline = time.monotonic() + PATIENCE
    while sum(h.connected for h in hosts) < number and time.monotonic() < deadline:
        time.sleep(0.1)


def _last(crowds: list[Process], since: float) -> float:
    """Return when the last agent had a message, in seconds after `since`."""
    found = [crowd.ask("await", since, EACH, PATIENCE) for crowd in crowds]
    assert all(crowd["number"] == EACH for crowd in found), found
    return max(float(crowd["last"]) for crowd in found)
