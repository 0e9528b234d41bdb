"""Restarts behind the shipped nginx, while clients ask without a pause."""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.processes import ended
from tests.serving.restarting import (
    Activated,
    Clients,
    assert_nothing_failed,
    at_work,
)
from tests.waiting import until

# The server has a database of its own: one run of the suite is enough.
pytestmark = [pytest.mark.sqlite, pytest.mark.slow]


@pytest.fixture
def server(folder: Path) -> Iterator[Activated]:
    """Yield a server with two workers, started by its unit."""
    with Activated(folder) as made:
        yield made


@pytest.fixture
def clients(server: Activated, tmp_path: Path) -> Iterator[Clients]:
    """Yield clients at work."""
    with at_work(server, tmp_path, server.token) as made:
        yield made


def _all_ended(workers: set[int]) -> bool:
    return all(map(ended, workers))


def test_a_reload_replaces_all_workers_without_a_failed_request(
    server: Activated, clients: Clients
):
    assert server.process is not None
    for _ in range(3):
        before = server.workers()
        server.process.send_signal(signal.SIGHUP)
        until(partial(_all_ended, before), "the end of the old workers")
        clients.more()
    assert_nothing_failed(server, clients)


def test_a_restart_with_migrations_lets_requests_wait_and_fails_none(
    server: Activated, clients: Clients
):
    for _ in range(2):
        assert server.stop() == 0
        server.manage("migrate", "--verbosity", "0")
        server.start()
        clients.more()
    assert_nothing_failed(server, clients)
