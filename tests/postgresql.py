"""A PostgreSQL of a test's own: stopped, frozen, started, followed and promoted."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import free_port

POSTGRESQL = Path("/usr/lib/postgresql")


class Cluster:
    """One throwaway cluster."""

    def __init__(self, folder: Path) -> None:
        self.binaries = max(POSTGRESQL.glob("*/bin"))
        self.folder = folder
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:secretpass@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *words: str) -> None:
        """Run a program of PostgreSQL, which refuses to be root."""
        command = [str(self.binaries / program), *words]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def make(self, primary: "Cluster | None") -> None:
        """Have files: new ones, or a copy of a primary's that follows it."""
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        data = ("-D", str(self.folder / "data"))
        if primary is None:
            self.run("initdb", *data, "-A", "trust", "-N", "-E", "UTF8", "--no-locale")
        else:
            where = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres")
            self.run("pg_basebackup", *data, "-R", "-X", "stream", "-c", "fast", *where)

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off "
            f"-c unix_socket_directories={self.folder}"
        )
        self.run(
            "pg_ctl", "start", "-w", "-D", str(self.folder / "data"),
            "-l", str(self.folder / "log"), "-o", options,
        )  # fmt: skip

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", f"{self.folder}/data")

    def promote(self) -> None:
        """Make a primary of a standby."""
        self.run("pg_ctl", "promote", "-w", "-D", f"{self.folder}/data")

    def pids(self) -> list[int]:
        """Return all its processes, the first one first."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def freeze(self) -> None:
        """Stop all its processes where they are; its sockets stay."""
        for pid in self.pids():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        for pid in reversed(self.pids()):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def running_cluster(primary: Cluster | None = None) -> Iterator[Cluster]:
    """Yield a running one, or a streaming standby; skips where there are no programs."""
    if not list(POSTGRESQL.glob("*/bin/initdb")) and not os.environ.get("CI"):
        pytest.skip("PostgreSQL's server programs are not installed")
    # The folder of pytest itself is closed to other users.
    folder = Path("/tmp") / f"mesh-pg-{os.getpid()}-{free_port()}"
    folder.mkdir(mode=0o755)
    made = Cluster(folder)
    made.make(primary)
    made.start()
    try:
        yield made
    finally:
        end = f"P=$(head -1 {folder}/data/postmaster.pid); kill -QUIT $P; kill -CONT $P"
        subprocess.run(["/bin/sh", "-c", end], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)
