"""Enrolment: new peers by setup key, four at a time, against their writes alone."""

import asyncio
import os
import time
from typing import Final

from benchmarks.agents import private_key
from benchmarks.bench_peers import cpu_seconds, started, wait_for_port
from benchmarks.report import Report
from benchmarks.workspace import Workspace
from groups.services import group_create
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.control.agent import Agent
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services import logins
from tests.servers import free_port

PEERS: Final = int(os.environ.get("BENCH_ENROLLED", "1000"))
AT_ONCE: Final = 4
ALONE: Final = 300
LIMIT: Final = 3


def run(workspace: Workspace, report: Report) -> None:
    """Enrol into an account that begins empty; every peer joins two groups."""
    workspace.token()  # makes the account
    key = _key()
    alone = _writes_alone(key)
    port = free_port()
    environment = {
        **workspace.environment,
        "SVC_GRPC_BIND": f"127.0.0.1:{port}",
        "SVC_RUNTIME_DIR": str(workspace.folder / "peers-run"),
    }
    with started(environment, "manage.py", "serve_peers") as peers:
        wait_for_port(environment)
        used, begun = cpu_seconds(peers.popen.pid), time.perf_counter()
        asyncio.run(_enrol(f"http://127.0.0.1:{port}", key))
        rate = PEERS / (time.perf_counter() - begun)
        each = (cpu_seconds(peers.popen.pid) - used) / PEERS
    report.note(f"{PEERS} enrolled: {rate:.0f} a second, four at a time")
    name = "CPU time of an enrolment, against that of its writes alone"
    report.at_most(name, each, alone, LIMIT)


def _key() -> str:
    groups = [group_create(name=name).pk for name in ("first", "second")]
    terms = {"type": "reusable", "expires_in": 86400, "auto_groups": groups}
    return setup_keys.create({"name": "all", **terms}).plain


async def _enrol(url: str, key: str) -> None:
    numbers = iter(range(PEERS))

    async def one_after_the_other() -> None:
        for number in numbers:
            async with Agent(
                url, hostname=f"host-{number}", private_key=private_key(number)
            ) as agent:
                await agent.login(setup_key=key)

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))


def _writes_alone(key: str) -> float:
    """Enrol without wire and maps, one after the other; return the CPU seconds of each."""
    begun = time.process_time()
    for number in range(PEERS, PEERS + ALONE):
        agent = Agent("http://localhost:1", private_key=private_key(number))
        request = pb.LoginRequest(setupKey=key, meta=agent.meta)
        logins.login(agent.public_key, request, "127.0.0.1")
    return (time.process_time() - begun) / ALONE
