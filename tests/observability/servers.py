"""Real servers for tests: started as an operator starts them, on free ports."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from meshmgmt.env import BASE_DIR
from tests.runfolder import clean_environ, copy_migrated_database, share_static_files
from tests.servers import free_port
from tests.waiting import PATIENCE, until


@dataclass
class Reply:
    """Status, headers (lower-case names) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def request(port: int, path: str, method: str = "GET", **headers: str) -> Reply:
    """Send one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())
    finally:
        connection.close()


HALF_HEAD: Final = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
HALF_BODY: Final = (
    b"POST /api/groups HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"
)


@contextmanager
def half_request(port: int, data: bytes = HALF_HEAD) -> Iterator[socket.socket]:
    """Begin a request on a connection; yields it."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(data)
        yield connection


class Server:
    """A server in a folder of its own; `flags` are those of `manage.py serve`."""

    def __init__(
        self, folder: Path, *flags: str, migrated: bool = True, **environ: str
    ) -> None:
        self.folder = folder
        self.code = BASE_DIR
        self.flags = flags
        self.port = free_port()
        self.metrics_port = free_port()
        self.environ = {
            **clean_environ(),
            "SVC_DATA_DIR": str(folder),
            "SVC_BIND": f"127.0.0.1:{self.port}",
            "SVC_METRICS_PORT": str(self.metrics_port),
            "SVC_GRPC_BIND": "off",
            "SVC_DRAIN_SECONDS": "0",
            "SVC_WORKERS": "1",
            **environ,
        }
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        share_static_files(folder)
        if migrated and "SVC_DATABASE_URL" not in environ:
            copy_migrated_database(folder / "db.sqlite3")

    @property
    def runtime_dir(self) -> Path:
        """Where the server keeps its files."""
        return Path(self.environ.get("SVC_RUNTIME_DIR", str(self.folder / "run")))

    @property
    def output(self) -> Path:
        """What the server printed."""
        return self.folder / "output.log"

    def start(self, *command: str) -> "Server":
        """Start, and wait until the API and, by `serve`, the metrics port answer."""
        self.launch(*command)
        try:
            until(self._answers, "an answer of the server")
            named = "SVC_METRICS_PORT" in self.environ
            if named and not command and "--metrics-port" not in self.flags:
                until(self.scrapes, "the metrics port")
        except BaseException:
            self.stop(signal.SIGKILL)
            raise
        return self

    def launch(self, *command: str) -> None:
        """Start without waiting."""
        words = command or (sys.executable, "manage.py", "serve", *self.flags)
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                words, cwd=self.code, env=self.environ, stdout=output, stderr=output
            )

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.printed()[-3000:]
        try:
            return self.get("/livez").status == 200
        except OSError:
            return False

    def scrapes(self) -> bool:
        """Tell whether the metrics port answers."""
        try:
            return "mesh_build_info" in self.scrape()
        except OSError:
            return False

    def printed(self) -> str:
        """Return all that the server printed so far."""
        return self.output.read_text() if self.output.exists() else ""

    def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """Send a request to the API port."""
        return request(self.port, path, method, **headers)

    def scrape(self) -> str:
        """Return the metrics port's answer."""
        reply = request(self.metrics_port, "/metrics")
        assert reply.status == 200, reply.text
        return reply.text

    def value(self, series: str) -> float:
        """Return one series of a scrape; 0 when it is not there."""
        return value_of(self.scrape(), series)

    def info(self) -> dict[str, Any]:
        """Return what the server says about itself in its runtime directory."""
        found: dict[str, Any] = json.loads(
            (self.runtime_dir / "server.json").read_text()
        )
        return found

    def workers(self) -> set[int]:
        """Return the processes of the workers."""
        return {
            pid
            for pid in children(self.info()["pid"])
            if b"gunicorn" in _proc(Path(f"/proc/{pid}/cmdline"))
        }

    def housekeeper(self) -> int:
        """Return the housekeeping process."""
        beat = self.runtime_dir / "housekeeping.json"
        assert until(beat.exists, "a heartbeat")
        document = json.loads(beat.read_text())
        return int(document["pid"])

    def manage(
        self, *words: str, check: bool = True, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a management command as an operator beside the server does."""
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=self.code,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=check,
            timeout=300,
        )

    def records(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the JSON log records printed so far that have the wanted fields."""
        return [r for r in json_records(self.printed()) if wanted.items() <= r.items()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Kill all processes, as systemd and an end of the machine do."""
        assert self.process is not None
        family = {self.process.pid, *descendants(self.process.pid)}
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        until(lambda: all(map(ended, family)), "the end of all processes")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def children(pid: int) -> set[int]:
    """Return the processes that a process started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(word) for task in tasks for word in _proc(task).split()}


def descendants(pid: int) -> set[int]:
    """Return the processes that a process started, and those that they did."""
    direct = children(pid)
    return direct.union(*map(descendants, direct))


def ended(pid: int) -> bool:
    """Tell whether a process is gone, or waits for its parent to notice."""
    state = _proc(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return not state or state[0] == b"Z"


def _proc(path: Path) -> bytes:
    """Return a file of a process; nothing when it ends before or while it is read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def value_of(scrape: str, series: str) -> float:
    """Return the value of one series, 0 when it is absent."""
    for line in scrape.splitlines():
        if line.startswith(f"{series} "):
            return float(line.rpartition(" ")[2])
    return 0.0


def json_records(text: str) -> list[dict[str, Any]]:
    """Return the lines that are whole JSON objects."""
    return [
        json.loads(line)
        for line in text.splitlines()
        if line.startswith("{") and line.endswith("}")
    ]


def series_names(scrape: str) -> Iterable[str]:
    """Yield the name of each sample."""
    for line in scrape.splitlines():
        if line and not line.startswith("#"):
            yield line.partition("{")[0].partition(" ")[0]
