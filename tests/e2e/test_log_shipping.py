"""Logs that grow: through a pipe, and by the shipper configuration in `deploy/`."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from meshmgmt.env import BASE_DIR
from tests import runfolder
from tests.events.commands import combined
from tests.events.proxies import (
    REQUESTS,
    make_odd_requests,
    make_requests,
    running_nginx,
)
from tests.programs import program
from tests.servers import Server, free_port, migrated_database, running_server
from tests.waiting import PATIENCE, until

# Where the shipper cuts what the endpoint would refuse.
CUT_HOST: Final = 240
CUT_PATH: Final = 8180


@dataclass
class Installation:
    """A folder with a database of its own, and commands that use it."""

    folder: Path
    environ: dict[str, str]

    def command(self, *arguments: str) -> list[str]:
        """Return a command line."""
        return [sys.executable, str(BASE_DIR / "manage.py"), *arguments]

    def start(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Start taking an nginx log in."""
        return subprocess.Popen(
            self.command("ingest", "proxy", *arguments, "--format", "nginx"),
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **options,
        )

    def rows(self) -> int:
        """Return how many entries are stored."""
        url, file = self.environ.get("SVC_DATABASE_URL"), self.folder / "db.sqlite3"
        connected: Any = psycopg.connect(url) if url else sqlite3.connect(file)
        with closing(connected) as database:
            return int(database.execute(_COUNT).fetchone()[0])


_COUNT: Final = "SELECT count(*) FROM events_proxyentry"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """Return an installation that is set up."""
    with migrated_database(tmp_path) as url:
        given = {"SVC_DATA_DIR": str(tmp_path), "SVC_LOG_LEVEL": "error"}
        if url:
            given["SVC_DATABASE_URL"] = url
        yield Installation(tmp_path, runfolder.clean_environ() | given)


@contextmanager
def killed_after(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Leave no process behind when a test fails."""
    try:
        yield
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_open_pipe_is_stored_soon_and_a_signal_ends_with_the_counts(
    installation: Installation, number: int
):
    process = installation.start("-", stdin=subprocess.PIPE)
    with killed_after(process):
        assert process.stdin is not None
        for line in (combined(1), combined(1), combined(2)):
            process.stdin.write(line + b"\n")
        process.stdin.write(b"half a li")
        process.stdin.flush()
        until(lambda: installation.rows() == 3)
        process.send_signal(number)
        # The pipe is open still: its end is not what ends the command.
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        told = b"3 lines: 3 stored, 0 known already, 0 wrong\n"
        assert process.stdout.read() == told


@pytest.mark.slow
def test_tail_follows_a_log_through_its_rotation(installation: Installation):
    log = installation.folder / "access.log"
    log.write_bytes((combined(1) + b"\n") * 3)
    command = ["tail", "-n", "+1", "-F", str(log)]
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    tail: subprocess.Popen[bytes] = subprocess.Popen(command, **streams)
    with killed_after(tail):
        process = installation.start("-", stdin=tail.stdout)
        with killed_after(process):
            until(lambda: installation.rows() == 3)
            log.rename(f"{log}.1")
            log.write_bytes((combined(1) + b"\n") * 2)
            until(lambda: installation.rows() == 5)
            tail.terminate()
            out, _ = process.communicate(timeout=PATIENCE)
    assert out == b"5 lines: 5 stored, 0 known already, 0 wrong\n"


class Shipper:
    """A syslog-ng with the configuration we ship."""

    def __init__(self, folder: Path, log: Path, server: Server) -> None:
        self.folder = folder
        self.persist = folder / "persist"
        token = server.manage(
            *("create_token", "--user", "shipper@mesh.test"),
            *("--role", "admin", "--only", "ingest"),
        )
        self._environ = {
            **os.environ,
            "MESH_URL": f"{server.url}/api/events/proxy",
            "MESH_TOKEN": token.strip(),
            "MESH_LOG": str(log),
        }
        config = BASE_DIR / "deploy/syslog-ng/meshmgmt-proxy.conf"
        (folder / "syslog-ng.conf").write_text(f'@version: 3.38\n@include "{config}"\n')

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it, and kill it at the end."""
        names = {"cfgfile": "syslog-ng.conf", "persist-file": "persist"}
        names |= {"pidfile": "pid", "control": "control"}
        files = [f"--{x}={self.folder / name}" for x, name in names.items()]
        process = subprocess.Popen(
            [program("syslog-ng"), "--foreground", "--stderr", "--no-caps", *files],
            env=self._environ,
        )
        with killed_after(process):
            yield


@pytest.mark.sqlite
@pytest.mark.slow
def test_the_shipped_configuration_sends_each_request_once(tmp_path: Path):
    """The service is away at first, the log is rotated, the shipper killed."""
    log = tmp_path / "json.log"
    nginx_port = free_port()
    with (
        running_nginx(tmp_path, nginx_port),
        running_server(tmp_path / "var", content="owner") as server,
    ):
        shipper = Shipper(tmp_path, log, server)

        def entries() -> list[dict[str, Any]]:
            """Return what the service has."""
            return list(server.ask("GET", "/api/events/proxy?page_size=100")["data"])

        server.stop()
        with shipper.running():
            told = make_odd_requests(nginx_port)
            server.start()
            until(lambda: len(entries()) == len(told))
            assert sorted((e["method"], e["host"], e["path"]) for e in entries()) == (
                sorted((m, host[:CUT_HOST], path[:CUT_PATH]) for m, host, path in told)
            )
            log.rename(tmp_path / "json.log.1")
            make_requests(nginx_port)  # nginx goes on writing to the renamed file
            os.kill(int((tmp_path / "nginx.pid").read_text()), signal.SIGUSR1)
            until(log.exists)
            make_requests(nginx_port)
            total = len(told) + 2 * len(REQUESTS)
            until(lambda: len(entries()) == total)
            until(lambda: log.stat().st_size > 0)
        shipper.persist.unlink()  # what it sent before, it sends again
        with shipper.running():
            make_requests(nginx_port)
            total += len(REQUESTS)
            until(lambda: len(entries()) == total)
        for name in ("json.log", "json.log.1"):
            source = (str(tmp_path / name), "--format", "nginx")
            told_again = server.manage("ingest", "proxy", *source)
            assert ": 0 stored" in told_again
            assert told_again.endswith("known already, 0 wrong\n")
        assert len(entries()) == total
