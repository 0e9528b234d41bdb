"""PostgreSQL, or PgBouncer before it, that hangs: it is there and answers nothing."""

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import grpc
import pytest

from tests import waiting
from tests.control.agents import Agent, enrolled, followed, names, run, until
from tests.control.deployment import Deployment, deployed
from tests.cutlink import linked
from tests.nginx import PROXIED, proxying
from tests.pgbouncer import NAME, running_pgbouncer
from tests.postgresql import Cluster, running_cluster
from tests.processes import descendants
from tests.races import at_work
from tests.servers import Server, own_database
from tests.wire import Reply, request

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]

READERS = 20
"""More than all threads."""
SCRAPES = 40
"""So many that each of two workers has some."""
AT_ONCE = 8.0
"""On a machine with other work too; who waits for the database waits for 30 seconds."""
DEADLINE = 60.0
SOON = 20.0
FROZEN = 15.0
PATIENCE = 120.0


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A running PostgreSQL, in which tests make their databases."""
    with running_cluster() as made:
        monkeypatch.setenv("SVC_DATABASE_URL", made.url)
        yield made


def read(deployment: Deployment, path: str = "/api/groups") -> Reply:
    return deployment.server.call("GET", path)


def timed(ask: Callable[[], Reply]) -> tuple[float, int]:
    """Return how long an answer took, and its status."""
    begun = time.monotonic()
    status = ask().status
    return time.monotonic() - begun, status


class Readers:
    """Clients that read on and on, each with a pause after a refusal."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.over = threading.Event()
        self.statuses: Counter[int] = Counter()
        self.longest = 0.0

    def run(self) -> None:
        while not self.over.is_set():
            seconds, status = timed(lambda: read(self.deployment))
            self.statuses[status] += 1
            self.longest = max(self.longest, seconds)
            self.over.wait(0.0 if status == 200 else 0.5)


@contextmanager
def reading(deployment: Deployment) -> Iterator[Readers]:
    readers = Readers(deployment)
    with at_work(readers.over, *[readers.run] * READERS):
        yield readers


def check_probes(deployment: Deployment, seconds: float) -> None:
    """Ask for a while whether the server lives, at both of its ports."""
    server = deployment.server
    asked = {
        "lives": (partial(request, server.port, "/livez"), {200}),
        "here": (partial(request, server.port, "/metrics"), {200}),
        "metrics": (partial(request, server.metrics_port, "/metrics"), {200}),
        "proxied": (partial(scraped_through_proxy, deployment), {200}),
        "stranger": (partial(scraped_through_proxy, deployment, "mpt_no"), {404, 503}),
    }
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, (ask, statuses) in asked.items():
            took, status = timed(ask)
            assert status in statuses, name
            assert took < AT_ONCE, name
        time.sleep(0.1)


def let_in(deployment: Deployment) -> None:
    """Have each worker know the token, as those know it that are scraped all the time."""
    end = time.monotonic() + PATIENCE
    let = 0
    while let < SCRAPES:
        status = scraped_through_proxy(deployment).status
        assert status in {200, 503}  # 503 says to try again, as a scraper does
        let += status == 200
        assert time.monotonic() < end


def scraped_through_proxy(deployment: Deployment, token: str = "") -> Reply:
    given = {"Authorization": f"Token {token}"} if token else {}
    proxied = {"X-Forwarded-For": "192.0.2.1", **given}
    return deployment.server.call("GET", "/metrics", **proxied)


def check_back_soon(deployment: Deployment) -> None:
    """See that readers and writers are answered again soon."""
    end = time.monotonic() + SOON
    # Each thread has a connection of its own, which it finds broken once.
    waiting.until(lambda: read(deployment).status == 200, "an answer", SOON)
    waiting.until(lambda: writes(deployment), "a write", end - time.monotonic())
    waiting.until(lambda: read(deployment, "/readyz").status == 200, "readiness", SOON)


def writes(deployment: Deployment) -> bool:
    """Tell whether a write is taken; False when it is to be tried again."""
    group = {"name": f"made {time.time()}"}
    reply = deployment.server.call("POST", "/api/groups", group)
    assert reply.status == 200 or reply.json["code"] == 503, reply.text
    return reply.status == 200


def check_frozen(
    deployment: Deployment,
    freeze: Callable[[], None],
    thaw: Callable[[], None],
    seconds: float,
) -> None:
    with reading(deployment) as readers:
        let_in(deployment)
        assert readers.statuses[200]
        freeze()
        try:
            check_probes(deployment, seconds)
            assert timed(lambda: read(deployment, "/readyz"))[1] == 503
            assert timed(lambda: read(deployment))[1] == 503
        finally:
            thaw()
        check_back_soon(deployment)
    assert set(readers.statuses) == {200, 503}, readers.statuses
    assert readers.longest < DEADLINE
    check_back_soon(deployment)


def test_a_frozen_database_silences_neither_liveness_nor_metrics(
    tmp_path: Path, cluster: Cluster
):
    with deployed(tmp_path / "var", {"SVC_WORKERS": "2"}) as deployment:
        check_frozen(deployment, cluster.freeze, cluster.thaw, 40)
        assert "Traceback" not in deployment.server.printed()
        waiting.until(lambda: deployment.metrics()["mesh_inventory_up"] == 1)


async def logged_in(agent: Agent, setup_key: str) -> bool:
    """Tell whether an agent was let in, rather than asked to try again."""
    try:
        await agent.login(setup_key)
    except grpc.aio.AioRpcError as error:
        if error.code() != grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    return True


def test_peers_keep_their_streams_over_a_frozen_database(
    tmp_path: Path, cluster: Cluster
):
    with deployed(tmp_path / "var") as deployment:

        async def scenario() -> None:
            async with (
                enrolled(deployment, "steady") as steady,
                followed(steady) as seen,
            ):
                cluster.freeze()
                try:
                    await asyncio.sleep(FROZEN)
                finally:
                    cluster.thaw()
                await asyncio.to_thread(check_back_soon, deployment)
                async with Agent(deployment.url, hostname="late") as late:
                    # The process for peers finds out by itself: an agent asks again.
                    await until(partial(logged_in, late, deployment.setup_key()))
                    await until(lambda: "late" in names(seen))
                assert seen.breaks == 0

        run(scenario())


@contextmanager
def served(folder: Path, url: str, settings: Mapping[str, str]) -> Iterator[Deployment]:
    """Yield a server over a database that is there, and no process for peers."""
    server = Server(folder, database_url=url)
    server.environ.update(settings)
    server.manage("migrate", "--verbosity", "0")
    server.manage("welcome")
    server.start()
    try:
        yield Deployment(server)
    finally:
        server.stop()


def test_a_frozen_pooler_is_like_a_frozen_database(tmp_path: Path, cluster: Cluster):
    with own_database(cluster.url) as url, running_pgbouncer(url) as port:
        through = f"postgresql://postgres@127.0.0.1:{port}/{NAME}"
        settings = {"SVC_DATABASE_POOLER_URL": through, "SVC_WORKERS": "2"}
        with served(tmp_path / "var", url, settings) as deployment:
            check_frozen(deployment, freeze_pooler, thaw_pooler, 20)


def test_a_cut_link_to_the_database_is_like_a_frozen_one(
    tmp_path: Path, cluster: Cluster
):
    with linked(cluster.port) as link:
        url = cluster.url.replace(f":{cluster.port}/", f":{link.port}/")
        settings = {"SVC_WORKERS": "2"}
        with served(tmp_path / "var", url, settings) as deployment:
            check_frozen(deployment, link.cut, link.mend, 40)


def test_a_stopped_database_behind_nginx_is_503_until_it_is_back(
    tmp_path: Path, cluster: Cluster
):
    with served(tmp_path / "var", cluster.url, PROXIED) as deployment:
        apis = [f"127.0.0.1:{deployment.server.port}"]
        with proxying(tmp_path, apis, deployment.token) as proxied:
            proxied.assert_answers()
            let_in(deployment)
            cluster.stop()
            for start in ("GET /api/groups", "GET /api/users/current") * 10:
                status, headers, body = proxied.headed(proxied.head(start))
                assert status == 503
                assert headers["Retry-After"]
                assert b'"code":503' in body
            check_probes(deployment, 1)
            cluster.start()
            head = proxied.head("GET /api/groups")
            waiting.until(lambda: proxied.ask(head)[0] == 200)
            proxied.assert_answers()


def pooler() -> list[int]:
    """Return its process, and runuser before it, which stops when it does."""
    return [
        pid
        for pid in sorted(descendants(os.getpid()), reverse=True)
        if name_of(pid) in {"pgbouncer", "runuser"}
    ]


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def freeze_pooler() -> None:
    os.kill(pooler()[0], signal.SIGSTOP)


def thaw_pooler() -> None:
    def goes_on() -> bool:
        for pid in pooler():
            os.kill(pid, signal.SIGCONT)
        states = (Path(f"/proc/{pid}/stat").read_text() for pid in pooler())
        return not any(") T " in state for state in states)

    waiting.until(goes_on)
