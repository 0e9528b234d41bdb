"""PostgreSQL dies and its streaming standby is promoted, under writers and agents."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from tests import waiting
from tests.control.agents import enrolled, followed, names, run, until
from tests.control.deployment import Deployment, RefusedByApi, allow_everything
from tests.events.samples import moment, traffic
from tests.postgresql import Cluster, running_cluster
from tests.races import at_work
from tests.servers import Server

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]

BACK = 10.0
"""Seconds from the promotion to answers and the agents' next maps; 0.2 to 3 were seen."""


@contextmanager
def pair(*, synchronous: bool) -> Iterator[tuple[Cluster, Cluster]]:
    """Yield a primary and the standby that follows it."""
    with running_cluster() as primary, running_cluster(primary) as standby:
        with psycopg.connect(primary.url, autocommit=True) as connection:
            if synchronous:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
            wanted = "sync" if synchronous else "async"
            follows = "SELECT sync_state FROM pg_stat_replication"
            waiting.until(lambda: connection.execute(follows).fetchall() == [(wanted,)])
        yield primary, standby


@contextmanager
def deployed_over(folder: Path, url: str) -> Iterator[Deployment]:
    """Yield a server and a process for peers over that database."""
    server = Server(folder, database_url=url, SVC_WORKERS="2")
    server.manage("migrate", "--verbosity", "0")
    server.manage("welcome")
    server.start()
    deployment = Deployment(server)
    try:
        allow_everything(deployment)
        deployment.start()
        yield deployment
    finally:
        if deployment.process is not None:
            deployment.stop()
        server.stop()


class Writer:
    """Makes groups, sends flows and reads in turn, and notes what was acknowledged."""

    def __init__(self, deployment: Deployment, name: str, over: Event) -> None:
        self.deployment = deployment
        self.name = name
        self.over = over
        self.groups: list[str] = []
        self.flows: list[str] = []
        self.last = 0.0

    def run(self) -> None:
        number = 0
        while not self.over.is_set():
            number += 1
            name = f"{self.name}-{number}"
            flow = traffic(id=name, window_end=moment())
            written = self.sent("/groups", {"name": name}, self.groups, name)
            written &= self.sent("/events/network-traffic", [flow], self.flows, name)
            if written and self.answered("GET", "/groups"):
                self.last = time.monotonic()
            self.over.wait(0.02 if written else 0.3)

    def sent(self, path: str, body: Any, noted: list[str], name: str) -> bool:
        """Send, note what was acknowledged, and tell whether it was."""
        acknowledged = self.answered("POST", path, body)
        if acknowledged:
            noted.append(name)
        return acknowledged

    def answered(self, method: str, path: str, body: Any = None) -> bool:
        """Ask, and tell whether it was answered: nothing else than 503 is refused with."""
        try:
            self.deployment.api(method, path, body)
        except RefusedByApi as error:
            if '"code":503' not in str(error):
                raise
            return False
        return True


@contextmanager
def writing(deployment: Deployment) -> Iterator[list[Writer]]:
    over = Event()
    names = ("one", "two", "three")
    writers = [Writer(deployment, name, over) for name in names]
    with at_work(over, *(writer.run for writer in writers)):
        yield writers


def stored(url: str) -> tuple[set[str], set[str]]:
    """Return the names of groups and the ids of flows that a database holds."""
    with psycopg.connect(url) as connection:
        groups = connection.execute("SELECT name FROM groups_group").fetchall()
        flows = connection.execute("SELECT id FROM events_trafficevent").fetchall()
    return {name for (name,) in groups}, {name for (name,) in flows}


@pytest.mark.parametrize("synchronous", [True, False])
def test_a_promoted_standby_takes_over_with_all_that_was_acknowledged(
    tmp_path: Path, synchronous: bool
):
    with pair(synchronous=synchronous) as (primary, standby):
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://postgres:secretpass@{hosts}/postgres"
        url += "?target_session_attrs=read-write"
        with deployed_over(tmp_path / "var", url) as deployment:

            async def scenario() -> list[Writer]:
                async with (
                    enrolled(deployment, "steady") as steady,
                    followed(steady) as seen,
                ):
                    with writing(deployment) as writers:
                        await until(lambda: all(w.groups[9:] for w in writers))
                        await asyncio.to_thread(primary.stop)
                        await asyncio.to_thread(standby.promote)
                        promoted = time.monotonic()
                        await until(lambda: all(w.last > promoted for w in writers))
                        held = seen.serial
                        async with enrolled(deployment, "late"):
                            await until(lambda: "late" in names(seen))
                            assert time.monotonic() - promoted < BACK
                    assert seen.serial > held
                return writers

            writers = run(scenario())
            groups, flows = stored(standby.url)
            if synchronous:
                for writer in writers:
                    assert set(writer.groups) <= groups
                    assert set(writer.flows) <= flows
