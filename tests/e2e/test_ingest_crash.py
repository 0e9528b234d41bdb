"""A worker killed in the middle of a batch leaves all of it or nothing."""

import http.client
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.events.samples import moment, traffic
from tests.servers import GUNICORN, Server, running_server
from tests.waiting import until

EVENTS: Final = 2000
PATH: Final = "/api/events/network-traffic"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Yield a server of the test's own, for its workers die."""
    with running_server(tmp_path / "var", None, "owner", GUNICORN) as started:
        yield started


def ask(server: Server, method: str, path: str, body: bytes = b"") -> list[Any]:
    """Return the JSON of an answer, alone; nothing when the connection broke."""
    try:
        return [server.ask(method, path, body)]
    except (OSError, http.client.HTTPException):
        return []


def persistently(server: Server, method: str, path: str, body: bytes = b"") -> Any:
    """Return the JSON of an answer, waiting for new workers."""
    answers = partial(ask, server, method, path, body)
    return until(answers, lambda: server.printed()[-2000:])[0]


def stored(server: Server, user: str) -> int:
    """Return how many events of a user are stored, as counted and as listed."""
    query = f"{PATH}?user_id={user}&page_size={EVENTS * 2}"
    page = persistently(server, "GET", query)
    assert len(page["data"]) == page["total_records"]
    return int(page["total_records"])


def batch(name: str) -> bytes:
    """Return a batch whose events belong to a user of that name."""
    facts = {"user": {"id": name}, "window_end": moment(1)}
    return orjson.dumps([traffic(id=f"{name}-{n}", **facts) for n in range(EVENTS)])


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
        sender = threading.Thread(target=ask, args=(server, "POST", PATH, body))
        pids = server.workers()
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


@pytest.mark.slow
def test_a_killed_worker_leaves_no_partial_batch(server: Server):
    kill_and_retry(server, 3)


@pytest.mark.slow
def test_killed_workers_leave_no_partial_batch_at_a_dozen_points(server: Server):
    kill_and_retry(server, 12)
