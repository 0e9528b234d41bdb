"""A server behind the shipped nginx, and clients that ask without a pause."""

import json
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from meshmgmt import env
from meshmgmt.env import BASE_DIR
from tests.nginx import HOST, PROXIED, Proxied, proxying
from tests.servers import Server
from tests.serving.test_serving import unit_command
from tests.waiting import PATIENCE, until

CLIENTS: Final = 2
"""No more than may wait to write in one worker, or a stalled machine answers 503."""
RATE: Final = 80.0
"""Requests a second of all: below what the shipped nginx grants one address."""
MEANWHILE: Final = 50
"""Requests answered between one restart and the next."""


GROUPS: Final = "/api/groups"
EVENTS: Final = "/api/events/proxy"


class Activated(Server):
    """Started by its unit, with a listener that outlives it, as systemd's does."""

    def __init__(self, folder: Path, **environ: Any) -> None:
        alone = {"SVC_WORKERS": "2", "SVC_THREADS": "4", "SVC_DRAIN_SECONDS": "1"}
        given: dict[str, Any] = {"content": "owner", **alone, **PROXIED, **environ}
        super().__init__(folder, "--metrics-port", "off", **given)
        unit = (BASE_DIR / "deploy/systemd/meshmgmt-web.socket").read_text()
        assert f"\nListenStream={env.load({}).bind}\n" in unit
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=2048)

    def launch(self, *command: str) -> None:
        """Start as sd_listen_fds(3) says: the listener is descriptor 3."""
        number = self.listener.fileno()
        prepare = f"exec 3<&{number}; export LISTEN_FDS=1 LISTEN_PID=$$"
        words = ["bash", "-c", f'{prepare}; exec "$@"', "bash", *unit_command("web")]
        place: Any = {"cwd": self.code, "env": self.environ, "pass_fds": [number]}
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                words, stdout=output, stderr=output, **place
            )

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.listener.close()


class Clients:
    """Threads that read and write over kept connections until they are stopped."""

    def __init__(self, proxied: Proxied) -> None:
        self.proxied = proxied
        self.done = Event()
        self.answers: Counter[tuple[str, str, int | str]] = Counter()
        self.acknowledged: set[str] = set()
        """Names of the groups that clients were told are made."""
        self._numbers = count(1)
        self.threads = [Thread(target=self._ask) for _ in range(CLIENTS)]

    def _ask(self) -> None:
        connection = HTTPConnection(HOST, timeout=PATIENCE)
        headers = {"Authorization": f"Token {self.proxied.token}"}
        while not self.done.wait(CLIENTS / RATE):
            method, path, body = _work(next(self._numbers))
            try:
                connection.sock = connection.sock or self.proxied.secure()
                text = json.dumps(body) if method == "POST" else None
                connection.request(method, path, text, headers)
                answer = connection.getresponse()
                answer.read()
                self.answers[method, path, answer.status] += 1
                if (method, path, answer.status) == ("POST", GROUPS, 200):
                    self.acknowledged.add(body["name"])
                if answer.will_close:
                    connection.close()
            except Exception as error:
                self.answers[method, path, repr(error)] += 1
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


def _work(number: int) -> tuple[str, str, Any]:
    """Return a read, an event, a read and a group in turn."""
    if number % 2:
        return "GET", "/api/users", None
    if number % 4:
        return "POST", EVENTS, [{"id": f"n{number}", "host": HOST}]
    return "POST", GROUPS, {"name": f"n{number}"}


@contextmanager
def at_work(server: Activated, folder: Path, token: str) -> Iterator[Clients]:
    """Yield clients that ask a running server through nginx."""
    apis = [f"127.0.0.1:{server.port}"]
    with proxying(folder, apis, token) as proxied, Clients(proxied) as made:
        made.more()
        yield made


def assert_nothing_failed(server: Activated, clients: Clients) -> None:
    """All answers are 200, and each write is there once, on the trail too."""
    clients.__exit__()
    assert {status for _, _, status in clients.answers} == {200}, clients.answers
    assert len(clients.answers) == 3

    def read(path: str) -> Any:
        return server.get(path, Authorization=f"Token {clients.proxied.token}").json

    stored = read(f"{EVENTS}?page_size=1&host={HOST}")
    assert stored["total_records"] == clients.answers["POST", EVENTS, 200]
    groups = {group["name"]: group["id"] for group in read(GROUPS)}
    assert clients.acknowledged <= groups.keys()
    trail = read("/api/events/audit?activity_code=group.add")
    made = Counter(event["target_id"] for event in trail)
    assert {made[groups[name]] for name in clients.acknowledged} == {1}
