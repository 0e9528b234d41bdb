"""The real server, started as operators start it, on free ports in a folder of its own.

Used by the end-to-end tests and by the benchmarks.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from meshmgmt.core.ids import new_id
from meshmgmt.env import BASE_DIR
from tests.runfolder import (
    AT_END,
    clean_environ,
    copy_migrated_database,
    migrate,
    path,
    share_static_files,
)
from tests.waiting import until

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 20.0


class ServerError(RuntimeError):
    """The server did not start or stop as it should; the text quotes its log."""


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def own_database(url: str = "", *, like: str = "template1") -> Iterator[str]:
    """Yield the address of a new PostgreSQL database beside that of `url`; drop it after.

    `url` is SVC_DATABASE_URL by default; yields "" (SQLite) when it names no PostgreSQL.
    The new one is a copy of the database named `like`.
    """
    url = url or os.environ.get("SVC_DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield ""
        return
    name = f"own_{new_id()}"
    with psycopg.connect(url, autocommit=True) as connection:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(made.format(sql.Identifier(name), sql.Identifier(like)))
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


@contextmanager
def migrated_database(folder: Path) -> Iterator[str]:
    """Yield the address of a new PostgreSQL database with all tables; drop it after.

    Where the tests run on SQLite it yields "", and the folder of data has the file.
    """
    if os.environ.get("SVC_DATABASE_URL", "").startswith("postgres"):
        with own_database(like=_migrated()) as url:
            yield url
        return
    folder.mkdir(parents=True, exist_ok=True)
    copy_migrated_database(folder / "db.sqlite3")
    yield ""


@cache
def _migrated() -> str:
    """Return the name of a PostgreSQL database with all tables, made once a process."""
    url = AT_END.enter_context(own_database())
    environ = {**clean_environ(), "SVC_DATABASE_URL": url, "SVC_DATA_DIR": str(path())}
    migrate(environ)
    return urlsplit(url).path.removeprefix("/")


@dataclass
class Server:
    """One installation: a data folder, a database, and the processes serving them."""

    folder: Path
    database_url: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)
    address: str = "127.0.0.1"
    within: tuple[str, ...] = ()
    """Begins every command: where its processes run."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where the API and the admin site answer, without trailing slash."""
        return f"http://{self.address}:{self.port}"

    @property
    def log_path(self) -> Path:
        """What the server wrote to standard output and standard error."""
        return self.folder / "server.log"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every command of this installation."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("SVC_") and name != "PROMETHEUS_MULTIPROC_DIR"
        }
        own = {
            "SVC_DATA_DIR": str(self.folder),
            "SVC_BIND": f"{self.address}:{self.port}",
            "SVC_METRICS_PORT": str(self.metrics_port),
            "SVC_GRPC_BIND": "off",
            "SVC_DRAIN_SECONDS": "0",
            "SVC_WORKERS": "1",
        }
        if self.database_url:
            own["SVC_DATABASE_URL"] = self.database_url
        return {**inherited, **own, **self.extra}

    def manage(self, *arguments: str, check: bool = True, text: str = "") -> str:
        """Run `manage.py` and return what it printed. Raises ServerError on failure."""
        done = subprocess.run(
            [*self.within, sys.executable, str(BASE_DIR / "manage.py"), *arguments],
            cwd=BASE_DIR,
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise ServerError(f"{arguments}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def start(self) -> None:
        """Start `manage.py serve` and wait until it accepts connections."""
        self.folder.mkdir(parents=True, exist_ok=True)
        share_static_files(self.folder)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, sys.executable, str(BASE_DIR / "manage.py"), "serve"],
                cwd=BASE_DIR,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            until(self._answers, "a server that answers", START_SECONDS)
        except (AssertionError, ServerError) as error:
            self.stop()
            raise ServerError(f"the server did not start\n{self.log()}") from error

    def _answers(self) -> bool:
        """Tell whether a worker answers, not only whether the master listens."""
        if self.process is None or self.process.poll() is not None:
            raise ServerError("the server has ended")
        try:
            with socket.create_connection((self.address, self.port), 5) as connection:
                connection.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
                return connection.recv(5) == b"HTTP/"
        except OSError:
            return False

    def stop(self) -> None:
        """Stop the server and what it started."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def log(self) -> str:
        """Return the server's log so far."""
        if not self.log_path.exists():
            return ""
        return self.log_path.read_text(encoding="utf-8", errors="replace")


@contextmanager
def running_server(
    folder: Path, extra: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Yield a started server over an empty, migrated database of the kind under test."""
    with migrated_database(folder) as url:
        server = Server(folder, url, extra or {})
        server.start()
        try:
            yield server
        finally:
            server.stop()
