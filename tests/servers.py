"""The real server, started as operators start it, on free ports in a folder of its own.

Used by the end-to-end tests and by the benchmarks.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from meshmgmt.core.ids import new_id
from meshmgmt.env import BASE_DIR
from tests.processes import children, descendants, ended, file_of
from tests.programs import ran
from tests.runfolder import (
    AT_END,
    CONTENTS,
    add,
    clean_environ,
    copy_data,
    copy_files,
    path,
    share_static_files,
)
from tests.waiting import PATIENCE, until
from tests.wire import LOOPBACK, Reply, json_records, request, value_of

GUNICORN: Final = (sys.executable, "-m", "gunicorn", "meshmgmt.wsgi:application")
"""Starts the API and the admin site alone: no housekeeping, no peers' port."""
PORTS: Final = range(20_000, 32_768)
_OF_THE_RUN: Final = os.environ.get("SVC_DATABASE_URL", "")


class ServerError(RuntimeError):
    """A command of the server failed; the text quotes what it said."""


def free_port() -> int:
    """Return a loopback port that nobody listens on now.

    None that the system may give to a connection while a server is away that is started
    again; by chance of its own, for each test seeds that of `random` anew.
    """
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


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
def migrated_database(folder: Path, content: str = "tables") -> Iterator[str]:
    """Yield the address of a new PostgreSQL database with a content; drop it after.

    Where the tests run on SQLite it yields "", and the folder of data has the file.
    """
    server = os.environ.get("SVC_DATABASE_URL", "")
    if not server.startswith("postgres"):
        copy_data(content, folder)
        yield ""
    elif server == _OF_THE_RUN:
        like, data = _made(content)
        copy_files(data, folder)
        with own_database(like=like) as url:
            yield url
    else:  # one that a test started, which ends before the run does
        with own_database() as url:
            _fill(content, folder, url)
            yield url


@cache
def _made(content: str) -> tuple[str, Path]:
    """Return a PostgreSQL database's name and its folder of data, made once a process."""
    before, folder = CONTENTS[content][0], path() / f"{content}-{os.getpid()}"
    like = "template1"
    if before:
        like, data = _made(before)
        copy_files(data, folder)
    url = AT_END.enter_context(own_database(like=like))
    add(content, folder, url)
    return urlsplit(url).path.removeprefix("/"), folder


def _fill(content: str, folder: Path, url: str) -> None:
    if before := CONTENTS[content][0]:
        _fill(before, folder, url)
    add(content, folder, url)


class Server:
    """One installation: a data folder, a database, and the processes serving them.

    Without an address of a database it is SQLite's file in the folder, which holds a
    `content` of `CONTENTS`; with "" it is not there. `flags` are those of `manage.py
    serve`; a `command` is started in its place; `within` begins every command: where
    its processes run.
    """

    def __init__(
        self,
        folder: Path,
        *flags: str,
        database_url: str = "",
        address: str = LOOPBACK,
        within: tuple[str, ...] = (),
        command: tuple[str, ...] = (),
        content: str = "tables",
        **environ: str,
    ) -> None:
        self.folder = folder
        self.code = BASE_DIR
        self.flags = flags
        self.address = address
        self.within = within
        self.command = command
        self.database_url = database_url or environ.get("SVC_DATABASE_URL", "")
        self.port = free_port()
        self.metrics_port = free_port()
        own = {"SVC_DATA_DIR": str(folder), "SVC_BIND": f"{address}:{self.port}"}
        own |= {"SVC_METRICS_PORT": str(self.metrics_port), "SVC_GRPC_BIND": "off"}
        own |= {"SVC_DRAIN_SECONDS": "0", "SVC_WORKERS": "1"}
        own |= {"SVC_DATABASE_URL": database_url} if database_url else {}
        self.environ = clean_environ() | own | environ
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        share_static_files(folder)
        here = (folder / "db.sqlite3").exists()
        if content and not self.database_url and not here:
            copy_data(content, folder)

    @property
    def token(self) -> str:
        """What `manage.py welcome` made; not with "tables" alone."""
        return (self.folder / "token").read_text().strip()

    @property
    def url(self) -> str:
        """Where the API and the admin site answer, without trailing slash."""
        return f"http://{self.address}:{self.port}"

    @property
    def runtime_dir(self) -> Path:
        """Where the server keeps its files."""
        return Path(self.environ.get("SVC_RUNTIME_DIR", str(self.folder / "run")))

    @property
    def output(self) -> Path:
        """What the server wrote to standard output and standard error."""
        return self.folder / "output.log"

    def printed(self) -> str:
        """Return all that the server printed so far."""
        if not self.output.exists():
            return ""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def records(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the JSON log records printed so far that have the wanted fields."""
        return [r for r in json_records(self.printed()) if wanted.items() <= r.items()]

    def manage(self, *words: str, text: str = "", **environ: str) -> str:
        """Run a management command and return what it printed. Raises ServerError."""
        done = self.tried(*words, text=text, **environ)
        if done.returncode:
            raise ServerError(f"{words}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def tried(
        self, *words: str, text: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a management command, whatever comes of it."""
        command = (*self.within, sys.executable, "manage.py", *words)
        given = {**self.environ, **environ}
        return ran(*command, input=text, cwd=self.code, env=given)

    def start(self, *command: str) -> Self:
        """Start, and wait until the API and, by `serve`, the metrics port answer."""
        command = command or self.command
        self.launch(*command)
        try:
            until(self._answers, self.printed)
            elsewhere = command or self.within or "SVC_METRICS_PORT" not in self.environ
            if not elsewhere and "--metrics-port" not in self.flags:
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
                [*self.within, *words],
                cwd=self.code,
                env=self.environ,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def exit_status(self) -> int:
        """Return with what it ends by itself; it is started when it is not yet."""
        if self.process is None:
            self.launch()
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.printed()[-3000:]
        try:
            self.get("/livez")  # a refusal is an answer: the host may be another's
        except OSError:
            return False
        return True

    def scrapes(self) -> bool:
        """Tell whether the metrics port answers."""
        try:
            return "mesh_build_info" in self.scrape()
        except OSError:
            return False

    def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """Send a request to the API port."""
        return request(self.port, path, method, address=self.address, **headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request as the owner, unless `headers` say otherwise."""
        if "Authorization" not in headers:
            headers["Authorization"] = f"Token {self.token}"
        return request(self.port, path, method, body, address=self.address, **headers)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON that the owner gets, which has to be an answer of 200."""
        reply = self.call(method, path, body)
        assert reply.status == 200, reply.text
        return reply.json

    def scrape(self) -> str:
        """Return the metrics port's answer."""
        reply = request(self.metrics_port, "/metrics", address=self.address)
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
            if b"gunicorn" in file_of(pid, "cmdline")
        }

    def housekeeper(self) -> int:
        """Return the housekeeping process."""
        beat = self.runtime_dir / "housekeeping.json"
        assert until(beat.exists, "a heartbeat")
        document = json.loads(beat.read_text())
        return int(document["pid"])

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit status; 0 when nothing runs."""
        process, self.process = self.process, None
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(number)
        try:
            return process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)

    def kill(self) -> None:
        """Kill all processes, as systemd and an end of the machine do."""
        assert self.process is not None
        family = {self.process.pid, *descendants(self.process.pid)}
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        until(lambda: all(map(ended, family)), "the end of all processes")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def running_server(
    folder: Path,
    extra: Mapping[str, str] | None = None,
    content: str = "tables",
    command: tuple[str, ...] = (),
) -> Iterator[Server]:
    """Yield a started server over a database of its own of the kind under test."""
    with migrated_database(folder, content) as url:
        server = Server(folder, database_url=url, command=command)
        server.environ.update(extra or {})
        with server:
            yield server
