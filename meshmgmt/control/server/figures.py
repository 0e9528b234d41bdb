"""What the process that serves peers tells others about itself, in a file."""

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from meshmgmt.core import runtime
from observability.registries import (
    InventoryRows,
    register_inventory,
    register_readiness_check,
)

FILE: Final = "peers.json"
LOCK: Final = "peers.lock"
EVERY_SECONDS: Final = 2.0
STALE_SECONDS: Final = 15.0
"""How long peers may go unserved after the server has started."""


def register() -> None:
    """Show them in the metrics, in `status`, in the admin, and in `/readyz`."""
    register_inventory(
        "mesh_peer_streams", "Open streams of peers, by kind.", ("kind",), _streams
    )
    register_inventory(
        "mesh_peer_map_wait_seconds",
        "How long the peer that waits longest has waited for its newest map.",
        (),
        _wait,
    )
    register_readiness_check("peers", lambda: problem(settings.SVC.runtime_dir))


@dataclass(frozen=True, slots=True)
class Figures:
    """`oldest_wait_seconds`: how long the peer that waits longest waits for its map.

    `process`: its name among the `StreamProcess` rows. `waiting`: since when (Unix
    seconds) each peer waits for its newest map, those that wait longest, and the serial
    of the map that it has meanwhile.
    """

    pid: int
    time: float
    bind: str
    connected: int
    signal_streams: int
    oldest_wait_seconds: float
    serial: int
    process: str = ""
    waiting: dict[str, tuple[float, int]] = field(default_factory=dict)


def write(runtime_dir: Path, figures: Figures) -> None:
    """Leave the figures where other processes find them."""
    runtime.write_json(runtime_dir / FILE, asdict(figures))


def forget(runtime_dir: Path) -> None:
    """Remove them: the process ends in order."""
    (runtime_dir / FILE).unlink(missing_ok=True)


def current() -> Figures | None:
    """Return the figures of the process that serves peers here, None when none does."""
    runtime_dir = settings.SVC.runtime_dir
    return None if problem(runtime_dir) else read(runtime_dir)


def _streams() -> InventoryRows:
    found = current()
    if found is None:
        return {("sync",): 0, ("signal",): 0}
    return {("sync",): found.connected, ("signal",): found.signal_streams}


def _wait() -> InventoryRows:
    found = current()
    return {(): 0 if found is None else found.oldest_wait_seconds}


def read(runtime_dir: Path) -> Figures | None:
    """Return the last figures, None when no process left any."""
    document: dict[str, Any] | None = runtime.read_json(runtime_dir / FILE)
    return None if document is None else Figures(**document)


def problem(runtime_dir: Path) -> str:
    """Return what is wrong with the process, "" when it works or left in order."""
    figures = read(runtime_dir)
    if figures is None:
        return ""
    if not runtime.is_locked(runtime_dir, LOCK):
        return f"the process that serves peers ({figures.pid}) has died"
    age = time.time() - figures.time
    if age > STALE_SECONDS:
        return f"the process that serves peers gave no sign for {age:.0f} seconds"
    return ""
