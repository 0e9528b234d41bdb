"""`manage.py ingest` beside programs that really write, rotate and stop."""

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from meshmgmt.env import BASE_DIR
from tests import runfolder
from tests.events.commands import combined
from tests.servers import POLL_SECONDS, START_SECONDS, own_database


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
        if url := self.environ.get("SVC_DATABASE_URL"):
            with psycopg.connect(url) as database:
                row = database.execute(_COUNT).fetchone()
        else:
            with closing(sqlite3.connect(self.folder / "db.sqlite3")) as file:
                row = file.execute(_COUNT).fetchone()
        assert row is not None
        return int(row[0])


_COUNT: Final = "SELECT count(*) FROM events_proxyentry"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """Return an installation that is set up."""
    with own_database() as url:
        environ = {
            **runfolder.clean_environ(),
            "SVC_DATA_DIR": str(tmp_path),
            "SVC_LOG_LEVEL": "error",
        }
        made = Installation(tmp_path, environ)
        if url:
            environ["SVC_DATABASE_URL"] = url
            migrate = made.command("migrate", "--verbosity", "0")
            subprocess.run(migrate, env=environ, check=True)
        else:
            runfolder.copy_migrated_database(tmp_path / "db.sqlite3")
        yield made


def until(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(POLL_SECONDS)


def ended(process: "subprocess.Popen[bytes]", number: int) -> str:
    """Stop a process by a signal; return what it said."""
    process.send_signal(number)
    out, _ = process.communicate(timeout=START_SECONDS)
    assert process.returncode == 0, out
    return out.decode()


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_open_pipe_is_stored_soon_and_a_signal_ends_with_the_counts(
    installation: Installation, number: int
) -> None:
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
        assert process.wait(START_SECONDS) == 0
        assert process.stdout is not None
        assert process.stdout.read() == (
            b"3 lines: 3 stored, 0 known already, 0 wrong\n"
        )


class Writer(threading.Thread):
    """Writes numbered lines to a log and rotates it, as a busy proxy would."""

    def __init__(self, log: Path, *, lines: int, every: int, grace: int) -> None:
        super().__init__()
        self.log, self.lines, self.every, self.grace = log, lines, every, grace

    def run(self) -> None:
        """Write; after a rotation `grace` more lines go to the old file."""
        file = self.log.open("ab", buffering=0)
        reopen = -1
        for number in range(self.lines):
            line = combined(number % 60, f"/{number}") + b"\n"
            half = len(line) // 2
            if number % 50 == 0:
                file.write(line[:half])
                time.sleep(0.001)
                file.write(line[half:])
            else:
                file.write(line)
            if number % 20 == 0:
                time.sleep(0.005)
            if number and number % self.every == 0:
                self.log.rename(f"{self.log}.{number}")
                self.log.touch()
                reopen = number + self.grace
            if number == reopen:
                file.close()
                file = self.log.open("ab", buffering=0)
        file.close()


def follow_a_writer(installation: Installation, **habits: int) -> None:
    """Follow a writer from its first line to its last."""
    log, mark = installation.folder / "access.log", installation.folder / "mark"
    log.touch()
    process = installation.start(
        str(log), "--follow", "--checkpoint", str(mark), stdin=subprocess.DEVNULL
    )
    with killed_after(process):
        until(mark.exists)
        writer = Writer(log, **habits)
        writer.start()
        writer.join()
        inode, end = log.stat().st_ino, log.stat().st_size
        until(lambda: b'"inode":%d,"position":%d,' % (inode, end) in mark.read_bytes())
        out = ended(process, signal.SIGINT)
    lines = habits["lines"]
    assert out == f"{lines} lines: {lines} stored, 0 known already, 0 wrong\n"
    assert installation.rows() == lines


def test_a_busy_log_loses_nothing_to_rotation(installation: Installation) -> None:
    follow_a_writer(installation, lines=3000, every=1400, grace=100)


@pytest.mark.slow
@pytest.mark.parametrize("every", [300, 1000, 5000])
def test_a_busy_log_loses_nothing_to_many_rotations(
    installation: Installation, every: int
) -> None:
    follow_a_writer(installation, lines=40_000, every=every, grace=200)


def test_a_killed_run_is_gone_on_with(installation: Installation) -> None:
    log, mark = installation.folder / "access.log", installation.folder / "mark"
    log.write_bytes((combined(1) + b"\n") * 3)
    arguments = (str(log), "--follow", "--checkpoint", str(mark))
    process = installation.start(*arguments)
    with killed_after(process):
        until(lambda: installation.rows() == 3)
    with log.open("ab") as file:
        file.write(combined(1) + b"\n")
    log.rename(f"{log}.1")
    log.write_bytes((combined(1) + b"\n") * 2)
    process = installation.start(*arguments)
    with killed_after(process):
        until(lambda: installation.rows() == 6)
        assert "0 wrong" in ended(process, signal.SIGTERM)


@pytest.mark.postgresql
def test_a_lost_connection_to_the_database_costs_no_line(
    installation: Installation,
) -> None:
    log = installation.folder / "access.log"
    log.write_bytes(combined(1) + b"\n")
    process = installation.start(str(log), "--follow")
    with killed_after(process):
        until(lambda: installation.rows() == 1)
        url = installation.environ["SVC_DATABASE_URL"]
        with psycopg.connect(url, autocommit=True) as database:
            database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with log.open("ab") as file:
            file.write(combined(2) + b"\n")
        until(lambda: installation.rows() == 2)
        assert "2 stored" in ended(process, signal.SIGTERM)
