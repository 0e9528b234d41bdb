"""Figures of the server's processes, from /proc: memory, CPU, open files."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from observability.metrics.exposition import Family, single

_PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
# Positions behind the command name in /proc/PID/stat (proc(5), fields 14 to 17 and 24).
_UTIME, _STIME, _CUTIME, _CSTIME, _RSS = 11, 12, 13, 14, 21


@dataclass(frozen=True, slots=True)
class Process:
    """One live process; `cpu` and `children_cpu` (ended ones) in seconds."""

    pid: int
    cpu: float
    children_cpu: float
    resident_bytes: int
    open_files: int


def read_process(pid: int) -> Process | None:
    """Return a process's figures, None when it is gone."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
        open_files = len(os.listdir(_PROC / str(pid) / "fd"))  # noqa: PTH208 - names only
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name of a command may hold blanks and brackets itself.
    values = stat.rpartition(")")[2].split()
    ticks = [int(values[n]) for n in (_UTIME, _STIME, _CUTIME, _CSTIME)]
    return Process(
        pid=pid,
        cpu=(ticks[0] + ticks[1]) / _TICKS,
        children_cpu=(ticks[2] + ticks[3]) / _TICKS,
        resident_bytes=int(values[_RSS]) * _PAGE,
        open_files=open_files,
    )


def live(pids: Iterable[int]) -> list[Process]:
    return [found for pid in sorted(pids) if (found := read_process(pid)) is not None]


def families(master: int, started: float, others: Iterable[int]) -> list[Family]:
    """Return the standard `process_*` families, added up over a server's processes.

    `master` is gunicorn's. CPU time of ended workers is that of its children, so the sum
    does not fall when a worker is replaced.
    """
    found = live({master, *others})
    cpu = sum(p.cpu + (p.children_cpu if p.pid == master else 0) for p in found)
    return [
        single(
            "process_cpu_seconds_total",
            "counter",
            "CPU time of all processes of the server, ended ones included, in seconds.",
            cpu,
        ),
        single(
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory of all processes of the server; shared pages count in each.",
            sum(p.resident_bytes for p in found),
        ),
        single(
            "process_open_fds",
            "gauge",
            "Open file descriptors of all processes of the server.",
            sum(p.open_files for p in found),
        ),
        single(
            "process_start_time_seconds",
            "gauge",
            "When the server was started, in seconds since the epoch.",
            started,
        ),
        single("mesh_processes", "gauge", "Live processes of the server.", len(found)),
    ]
