"""A worker killed in the middle of a batch leaves all of it or nothing."""

import http.client
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.events.samples import moment, traffic
from tests.servers import Server, running_server
from tests.waiting import until

EVENTS: Final = 2000
PATH: Final = "/api/events/network-traffic"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server of this module's own, for its workers die."""
    folder = tmp_path_factory.mktemp("crash") / "var"
    with running_server(folder, content="owner") as started:
        yield started


def call(server: Server, method: str, path: str, body: bytes = b"") -> Any:
    """Return the JSON of an answer; None when the connection broke."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        client.request(method, path, body, {"Authorization": f"Token {server.token}"})
        answer = client.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return orjson.loads(content)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        client.close()


def workers(server: Server) -> list[int]:
    """Return the processes that serve requests: gunicorn's, not its master."""
    info = json.loads((server.folder / "run" / "server.json").read_text())
    master = info["pid"]
    children = Path(f"/proc/{master}/task/{master}/children").read_text()
    return [int(pid) for pid in children.split()]


def persistently(server: Server, method: str, path: str, body: bytes = b"") -> Any:
    """Return the JSON of an answer, waiting for new workers."""

    def answers() -> list[Any]:
        answer = call(server, method, path, body)
        return [] if answer is None else [answer]

    return until(answers, lambda: server.printed()[-2000:])[0]


def stored(server: Server, user: str) -> int:
    """Return how many events of a user are stored, as counted and as listed."""
    query = f"{PATH}?user_id={user}&page_size={EVENTS * 2}"
    page = persistently(server, "GET", query)
    assert len(page["data"]) == page["total_records"]
    return int(page["total_records"])


def batch(name: str) -> bytes:
    """Return a batch whose events belong to a user of that name."""
    when = moment(1)
    return orjson.dumps(
        [
            traffic(id=f"{name}-{n}", user={"id": name}, window_end=when)
            for n in range(EVENTS)
        ]
    )


def kill_and_retry(server: Server, points: int) -> None:
    """Kill every worker at random points of a batch, then send it again."""
    started = time.perf_counter()
    persistently(server, "POST", PATH, batch("whole"))
    usual = time.perf_counter() - started
    chance = random.Random()
    outcomes = set()
    for number in range(points):
        name = f"batch{number}"
        body = batch(name)
        sender = threading.Thread(target=call, args=(server, "POST", PATH, body))
        pids = workers(server)
        sender.start()
        sender.join(chance.uniform(0, 1.2 * usual))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        sender.join()
        survived = stored(server, name)
        assert survived in {0, EVENTS}
        outcomes.add(survived)
        retried = persistently(server, "POST", PATH, body)
        assert retried == {"accepted": EVENTS - survived, "duplicates": survived}
        assert stored(server, name) == EVENTS
    everything = persistently(server, "GET", f"{PATH}?page_size=1")["total_records"]
    counted = persistently(server, "GET", f"{PATH}?page_size=1&search=laptop")
    assert everything == counted["total_records"] == (points + 1) * EVENTS


def test_a_killed_worker_leaves_no_partial_batch(server: Server) -> None:
    kill_and_retry(server, 3)


@pytest.mark.slow
def test_killed_workers_leave_no_partial_batch_at_thirty_points(
    tmp_path: Path,
) -> None:
    with running_server(tmp_path / "var", content="owner") as own:
        kill_and_retry(own, 30)
