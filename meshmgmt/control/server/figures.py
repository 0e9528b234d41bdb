"""What the process that serves peers tells others about itself, in a file.

The file is there for as long as peers are served, and stays behind after a crash.
"""

import time
from collections.abc import Set
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, NamedTuple

from django.conf import settings

from meshmgmt.control.services import presence
from meshmgmt.core import runtime
from meshmgmt.env import PROGRAM
from meshmgmt.inventory.models import Peer
from observability.registries import (
    InventoryRows,
    register_inventory,
    register_readiness_check,
)

EVERY_SECONDS: Final = 2.0
STALE_SECONDS: Final = 15.0
"""Several rounds: a busy process is not taken for a dead one."""


def register() -> None:
    """Show them in the metrics, in `status`, in the admin, and in `/readyz`."""
    text = "Open streams of peers, by kind."
    register_inventory("mesh_peer_streams", text, ("kind",), _streams)
    text = "How long the peer that waits longest has waited for its newest map."
    register_inventory("mesh_peer_map_wait_seconds", text, (), _wait)
    register_readiness_check("peers", unserved)


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


def name_of(number: int | None) -> str:
    """Return what the files of that process are called; None is the one alone."""
    return f"peers-{number}" if number else "peers"


def write(runtime_dir: Path, figures: Figures, number: int | None = None) -> None:
    """Leave the figures where other processes find them."""
    document = {each.name: getattr(figures, each.name) for each in fields(figures)}
    runtime.write_json(runtime_dir / f"{name_of(number)}.json", document)


def forget(runtime_dir: Path, number: int | None = None) -> None:
    """Remove them: the process ends in order."""
    (runtime_dir / f"{name_of(number)}.json").unlink(missing_ok=True)


def forget_dead(runtime_dir: Path) -> None:
    """Remove what processes left that died before these began."""
    for name in _read(runtime_dir):
        if not runtime.is_locked(runtime_dir, f"{name}.lock"):
            (runtime_dir / f"{name}.json").unlink(missing_ok=True)


def current() -> list[Figures]:
    """Return the figures of those that serve peers here and are well."""
    return [figures for figures, problem in _looked_at() if not problem]


def _streams() -> InventoryRows:
    found = current()
    return {
        ("sync",): sum(each.connected for each in found),
        ("signal",): sum(each.signal_streams for each in found),
    }


def _wait() -> InventoryRows:
    return {(): max((each.oldest_wait_seconds for each in current()), default=0)}


def _read(runtime_dir: Path) -> dict[str, Figures]:
    """Return the last figures of each process, by the name of its files."""
    documents = {
        path.stem: runtime.read_json(path)
        for path in sorted(runtime_dir.glob("peers*.json"))
    }
    return {name: Figures(**found) for name, found in documents.items() if found}


def unserved() -> str:
    """Return why peers find nobody, "" when they are served, here or by another host.

    Nobody is asked for where the setting says that no peers are served.
    """
    if problems := [problem for _, problem in _looked_at()]:
        # Those that share a port take over from one that died.
        return problems[0] if all(problems) else ""
    if not settings.SVC.grpc_bind:
        return ""
    runtime_dir = settings.SVC.runtime_dir
    locks = [path.name for path in runtime_dir.glob("peers*.lock")]
    if any(runtime.is_locked(runtime_dir, name) for name in locks):
        return "the process that serves peers is starting"
    if presence.somebody_serves():
        return ""
    return (
        f"no process serves peers: start `{PROGRAM} serve_peers`, "
        "or set SVC_GRPC_BIND=off"
    )


def _looked_at() -> list[tuple[Figures, str]]:
    """Return the last figures of each process here, and what is wrong with it."""
    runtime_dir = settings.SVC.runtime_dir
    return [
        (figures, _problem(runtime_dir, name, figures))
        for name, figures in _read(runtime_dir).items()
    ]


def _problem(runtime_dir: Path, name: str, figures: Figures) -> str:
    if not runtime.is_locked(runtime_dir, f"{name}.lock"):
        return f"the process that serves peers ({figures.pid}) has died"
    age = time.time() - figures.time
    if age > STALE_SECONDS:
        return f"the process that serves peers gave no sign for {age:.0f} seconds"
    return ""


class Delivered(NamedTuple):
    """Of some peers: how many are online, have the maps, and are served by other hosts.

    What those of other hosts have is known there.
    """

    online: int
    having: int
    elsewhere: int

    @property
    def is_done(self) -> bool:
        return self.having + self.elsewhere == self.online


def delivered(peer_ids: Set[str], serial: int) -> Delivered:
    """Return how far the maps of a serial have come."""
    here = {found.process: found for found in current()}
    having = elsewhere = online = 0
    rows = Peer.objects.filter(connected=True).order_by()
    for peer_id, process in rows.values_list("pk", "stream_process"):
        if peer_id not in peer_ids:
            continue
        online += 1
        if (found := here.get(process)) is None:
            elsewhere += 1
        else:
            held = found.waiting.get(peer_id, (0.0, found.serial))[1]
            having += min(held, found.serial) >= serial
    return Delivered(online, having, elsewhere)
