"""Figures of the server's processes, from /proc: memory, CPU, open files."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from observability.exposition import Family, Sample

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
    values = stat.rpartition(")")[2].split()
    ticks = [int(values[n]) for n in (_UTIME, _STIME, _CUTIME, _CSTIME)]
    return Process(
        pid=pid,
        cpu=(ticks[0] + ticks[1]) / _TICKS,
        children_cpu=(ticks[2] + ticks[3]) / _TICKS,
        resident_bytes=int(values[_RSS]) * _PAGE,
        open_files=open_files,
    )


def family_of(pid: int) -> Iterator[Process]:
    """Yield the process and its live children."""
    for number in (pid, *_children(pid)):
        process = read_process(number)
        if process is not None:
            yield process


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in (_PROC / str(pid) / "task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def families(master: int, started: float) -> list[Family]:
    """Return the standard `process_*` families, added up over a server's processes.

    CPU time of ended workers is that of the master's children, so the sum never falls.
    """
    live = list(family_of(master))
    cpu = sum(p.cpu for p in live) + sum(p.children_cpu for p in live[:1])
    return [
        _single(
            "process_cpu_seconds_total",
            "counter",
            "CPU time of all processes of the server, ended ones included, in seconds.",
            cpu,
        ),
        _single(
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory of all processes of the server; shared pages count in each.",
            sum(p.resident_bytes for p in live),
        ),
        _single(
            "process_open_fds",
            "gauge",
            "Open file descriptors of all processes of the server.",
            sum(p.open_files for p in live),
        ),
        _single(
            "process_start_time_seconds",
            "gauge",
            "When the server was started, in seconds since the epoch.",
            started,
        ),
        _single("mesh_processes", "gauge", "Live processes of the server.", len(live)),
    ]


def _single(name: str, kind: str, text: str, value: float) -> Family:
    return Family(name, kind, text, [Sample(name, (), value)])
