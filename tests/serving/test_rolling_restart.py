"""Restarts behind the shipped nginx, while clients ask without a pause."""

import json
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import pytest

from meshmgmt import env
from meshmgmt.env import BASE_DIR
from tests.observability.servers import Server, ended
from tests.programs import program, running
from tests.servers import free_port
from tests.serving.test_behind_nginx import HOST, Proxied, configure
from tests.serving.test_serving import unit_command
from tests.waiting import PATIENCE, until

# The server has a database of its own: one run of the suite is enough.
pytestmark = [pytest.mark.sqlite, pytest.mark.slow]

CLIENTS: Final = 2
"""No more than may wait to write in one worker, or a stalled machine answers 503."""
RATE: Final = 80.0
"""Requests a second of all: below what the shipped nginx grants one address."""
MEANWHILE: Final = 50
"""Requests answered between one restart and the next."""


class Activated(Server):
    """Started by its unit, with a listener that outlives it, as systemd's does."""

    def __init__(self, folder: Path, **environ: Any) -> None:
        super().__init__(folder, "--metrics-port", "off", **environ)
        unit = (BASE_DIR / "deploy/systemd/meshmgmt-web.socket").read_text()
        assert f"\nListenStream={env.load({}).bind}\n" in unit
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=2048)

    def launch(self, *command: str) -> None:
        """Start as sd_listen_fds(3) says: the listener is descriptor 3."""
        number = self.listener.fileno()
        prepare = f"exec 3<&{number}; export LISTEN_FDS=1 LISTEN_PID=$$"
        words = ["bash", "-c", f'{prepare}; exec "$@"', "bash", *unit_command("web")]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                words,
                cwd=BASE_DIR,
                env=self.environ,
                stdout=output,
                stderr=output,
                pass_fds=[number],
            )

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.listener.close()


class Clients:
    """Threads that read and write over kept connections until they are stopped."""

    def __init__(self, proxied: Proxied) -> None:
        self.proxied = proxied
        self.done = Event()
        self.answers: Counter[tuple[str, int | str]] = Counter()
        self._numbers = count(1)
        self.threads = [Thread(target=self._ask) for _ in range(CLIENTS)]

    def _ask(self) -> None:
        connection = HTTPConnection(HOST, timeout=PATIENCE)
        headers = {"Authorization": f"Token {self.proxied.token}"}
        while not self.done.wait(CLIENTS / RATE):
            number = next(self._numbers)
            method = "POST" if number % 2 else "GET"
            path = "/api/events/proxy" if number % 2 else "/api/groups"
            body = json.dumps([{"id": f"n{number}", "host": HOST}])
            try:
                connection.sock = connection.sock or self.proxied.secure()
                connection.request(method, path, body if number % 2 else None, headers)
                answer = connection.getresponse()
                answer.read()
                self.answers[method, answer.status] += 1
                if answer.will_close:
                    connection.close()
            except Exception as error:
                self.answers[method, repr(error)] += 1
                connection.close()
        connection.close()

    def more(self) -> None:
        """Wait until more requests were answered."""
        wanted = self.answers.total() + MEANWHILE
        until(lambda: self.answers.total() >= wanted, "answers")

    def __enter__(self) -> "Clients":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def server(folder: Path) -> Iterator[Activated]:
    """Yield a server with two workers, started by its unit."""
    made = Activated(
        folder,
        SVC_WORKERS="2",
        SVC_THREADS="4",
        SVC_DRAIN_SECONDS="1",
        SVC_ALLOWED_HOSTS=f"{HOST},127.0.0.1",
        SVC_TRUSTED_PROXIES="127.0.0.1",
    )
    with made:
        yield made


@pytest.fixture
def clients(server: Activated, tmp_path: Path) -> Iterator[Clients]:
    """Yield clients at work."""
    port, plain_port = free_port(), free_port()
    trust = configure(tmp_path, port, plain_port, server.port)
    command = [program("nginx"), "-c", f"{tmp_path}/nginx.conf"]
    command += ["-e", f"{tmp_path}/error.log"]
    words = ("create_token", "--user", "owner@mesh.company", "--role", "owner")
    token = server.manage(*words).stdout.strip()
    proxied = Proxied(port, plain_port, trust, token)
    with running(command, port, tmp_path), Clients(proxied) as made:
        made.more()
        yield made


def assert_nothing_failed(server: Activated, clients: Clients) -> None:
    """All answers are 200, and each write is there once."""
    clients.done.set()
    for thread in clients.threads:
        thread.join()
    assert clients.answers.keys() == {("GET", 200), ("POST", 200)}, clients.answers
    stored = server.get(
        "/api/events/proxy?page_size=1", Authorization=f"Token {clients.proxied.token}"
    ).json
    assert stored["total_records"] == clients.answers["POST", 200]


def _all_ended(workers: set[int]) -> bool:
    return all(map(ended, workers))


def test_a_reload_replaces_all_workers_without_a_failed_request(
    server: Activated, clients: Clients
) -> None:
    assert server.process is not None
    for _ in range(3):
        before = server.workers()
        server.process.send_signal(signal.SIGHUP)
        until(partial(_all_ended, before), "the end of the old workers")
        clients.more()
    assert_nothing_failed(server, clients)


def test_a_restart_with_migrations_lets_requests_wait_and_fails_none(
    server: Activated, clients: Clients
) -> None:
    for _ in range(2):
        assert server.stop() == 0
        server.manage("migrate", "--verbosity", "0")
        server.start()
        clients.more()
    assert_nothing_failed(server, clients)
