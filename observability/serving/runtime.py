"""The runtime directory: which server runs here, and what it tells other processes.

One server per runtime directory: a lock on a file says whether its master lives, however
it ended, and a JSON file says where it listens. The locked file holds the process id of
the master, and is emptied by a master that ends in order. No Django.
"""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

LOCK: Final = "server.lock"
INFO: Final = "server.json"
DRAINING: Final = "draining"
METRICS: Final = "metrics"
HOUSEKEEPING: Final = "housekeeping.json"
PATIENCE_SECONDS: Final = 3.0
"""How long a start waits for what a server that ended just now still holds."""


class Occupied(Exception):
    """Another server uses the runtime directory."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A running server; times in seconds since the epoch."""

    pid: int
    started: float
    kind: str
    bind: str
    metrics: str
    workers: int
    threads: int
    version: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The lock that marks this process as the running server.

    A forked child shares it and must `drop` it, or the lock outlives the server.
    """

    runtime_dir: Path
    descriptor: int
    after_kill: bool
    """Whether the server before did not end in order: its processes may still end."""

    def drop(self) -> None:
        """Close the descriptor; the lock ends with the last one."""
        os.close(self.descriptor)

    def release(self) -> None:
        """Give the runtime directory back in order, without a trace."""
        forget(self.runtime_dir)
        os.ftruncate(self.descriptor, 0)
        self.drop()


def claim(runtime_dir: Path, patience: float = PATIENCE_SECONDS) -> Claim:
    """Mark this process as the running server, and forget what an earlier one said.

    Waits up to `patience` seconds for a server that is about to end. Raises Occupied
    naming the process that runs.
    """
    runtime_dir.mkdir(parents=True, exist_ok=True, mode=0o750)
    descriptor = os.open(runtime_dir / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise Occupied(_occupied(runtime_dir)) from None
            time.sleep(0.1)
        else:
            after_kill = os.fstat(descriptor).st_size > 0
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            forget(runtime_dir)
            return Claim(runtime_dir, descriptor, after_kill)


def forget(runtime_dir: Path) -> None:
    """Remove what a server says about itself."""
    for name in (INFO, DRAINING, HOUSEKEEPING):
        (runtime_dir / name).unlink(missing_ok=True)


def _occupied(runtime_dir: Path) -> str:
    pid = (runtime_dir / LOCK).read_text()
    who = f"process {pid}" if pid else "another process"
    return (
        f"a server ({who}) runs already with the runtime directory {runtime_dir}: "
        "stop it, or set SVC_RUNTIME_DIR to another directory"
    )


def announce(runtime_dir: Path, info: ServerInfo) -> None:
    """Say where the server listens."""
    # A server that replaces a running one (USR2) may find its mark.
    (runtime_dir / DRAINING).unlink(missing_ok=True)
    write_json(runtime_dir / INFO, asdict(info))


def running(runtime_dir: Path) -> ServerInfo | None:
    """Return the running server, None when there is none."""
    try:
        descriptor = os.open(runtime_dir / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(runtime_dir)
    finally:
        os.close(descriptor)
    return None


def _read(runtime_dir: Path) -> ServerInfo | None:
    document = read_json(runtime_dir / INFO)
    return ServerInfo(**document) if document else None


def is_draining(runtime_dir: Path) -> bool:
    """Tell whether the server is about to close its listeners."""
    return (runtime_dir / DRAINING).exists()


def write_json(path: Path, document: object) -> None:
    """Replace a file as a whole, so that readers see the old or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(document), encoding="utf-8")
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a file's object; None when it is absent or unreadable as JSON."""
    try:
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return document if isinstance(document, dict) else None
