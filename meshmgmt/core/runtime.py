"""The runtime directory: which server runs here, and what processes tell each other.

One server per runtime directory: a lock on a file says whether gunicorn's master lives,
however it ended, and a JSON file says where it listens. No Django.
"""

import json
import os
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from meshmgmt.core import locks

LOCK: Final = "server.lock"
INFO: Final = "server.json"
DRAINING: Final = "draining"
METRICS: Final = "metrics"
HOUSEKEEPING: Final = "housekeeping.json"
_GLANCE_SECONDS: Final = 0.2
"""More than who only looks whether a lock is held may have it."""


class Occupied(Exception):
    """Another server uses the runtime directory."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A running server, this process unless told; `started` since the epoch."""

    pid: int = field(default_factory=os.getpid)
    started: float = field(default_factory=time.time)
    bind: str = ""
    workers: int = 0
    threads: int = 0
    version: str = ""


def make(runtime_dir: Path) -> None:
    """Make the directory, closed to others."""
    runtime_dir.mkdir(parents=True, exist_ok=True, mode=0o750)


def claim(runtime_dir: Path) -> int:
    """Mark this process as the running server; return the descriptor of the mark.

    What an earlier server said is forgotten. A forked child must close the descriptor,
    or the mark outlives the server. Raises Occupied naming the process that runs.
    """
    descriptor = lock(runtime_dir, LOCK, "a server")
    forget(runtime_dir)
    return descriptor


def lock(runtime_dir: Path, name: str, what: str) -> int:
    """Lock a file until this process ends, however it ends; return its descriptor.

    Raises Occupied naming `what` and the process that holds it.
    """
    make(runtime_dir)
    try:
        descriptor = locks.open_locked(runtime_dir / name, wait=_GLANCE_SECONDS)
    except locks.Locked:
        pid = (runtime_dir / name).read_text()
        raise Occupied(
            f"{what} (process {pid}) runs already with the runtime directory "
            f"{runtime_dir}: stop it, or set SVC_RUNTIME_DIR to another directory"
        ) from None
    # Written only once it is locked: until then it names whoever holds it.
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def is_locked(runtime_dir: Path, name: str) -> bool:
    """Tell whether a living process holds the lock of that name."""
    return locks.is_locked(runtime_dir / name)


def forget(runtime_dir: Path) -> None:
    """Remove what a server says about itself."""
    for name in (INFO, DRAINING):
        (runtime_dir / name).unlink(missing_ok=True)


def announce(runtime_dir: Path, info: ServerInfo) -> None:
    write_json(runtime_dir / INFO, asdict(info))


def running(runtime_dir: Path) -> ServerInfo | None:
    """Return the running server, None when there is none."""
    # The file outlives a server that was killed, its lock does not.
    if not is_locked(runtime_dir, LOCK):
        return None
    document = read_json(runtime_dir / INFO)
    if not document:
        return None
    # A server of another version may say more, or less.
    known = [each.name for each in fields(ServerInfo) if each.name in document]
    return ServerInfo(**{name: document[name] for name in known})


def is_draining(runtime_dir: Path) -> bool:
    """Tell whether the server is about to close its listeners."""
    return (runtime_dir / DRAINING).exists()


def write_json(path: Path, document: object) -> None:
    """Replace a file as a whole, so that readers see the old or the new one."""
    # With the process id: two processes may write at the same time.
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
