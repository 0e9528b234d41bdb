"""The runtime directory: which server runs here, and what it tells other processes.

One server per runtime directory: a lock on a file says whether it lives, however it
ended, and a JSON file says where it listens. No Django.
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
_CLAIM_SECONDS: Final = 3.0


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


def claim(runtime_dir: Path) -> int:
    """Return a descriptor whose lock marks this server as the running one.

    Waits for a moment: workers of a killed server let go within a second. Raises
    Occupied naming the process that holds it.
    """
    runtime_dir.mkdir(parents=True, exist_ok=True, mode=0o750)
    descriptor = os.open(runtime_dir / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _CLAIM_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise Occupied(_occupied(runtime_dir)) from None
            time.sleep(0.1)
        else:
            return descriptor


def _occupied(runtime_dir: Path) -> str:
    info = _read(runtime_dir)
    who = f"process {info.pid}" if info else "another process"
    return (
        f"a server ({who}) runs already with the runtime directory {runtime_dir}: "
        "stop it, or set SVC_RUNTIME_DIR to another directory"
    )


def announce(runtime_dir: Path, info: ServerInfo) -> None:
    """Say where the server listens."""
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
