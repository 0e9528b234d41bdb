"""Metric files whose space is really there.

prometheus_client makes its files sparse and maps them into memory. On a full disk the
first write to such a page kills the process with SIGBUS [seen: each request took a
worker with it]. Here space is allocated before it is mapped, and what cannot be
allocated is counted in memory alone: figures may suffer from a full disk, requests not.
"""

import logging
import mmap
import os
import struct
from typing import Any, Final

from prometheus_client import mmap_dict, values

_LOG: Final = logging.getLogger(__name__)
_HEADER: Final = 8
# Big enough for all routes, so that a file grows seldom; histograms have most entries.
_INITIAL: Final = 1 << 18
_INITIAL_HISTOGRAM: Final = 1 << 20


class AllocatedDict(mmap_dict.MmapedDict):  # type: ignore[unused-ignore]
    """The library's file of doubles, with allocated space and a fallback in memory."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        self._lost: dict[str, tuple[float, float]] = {}
        if not read_mode:
            name = os.path.basename(filename)  # noqa: PTH119 - the library's text
            size = _INITIAL_HISTOGRAM if name.startswith("histogram") else _INITIAL
            if not _allocate(filename, size):
                self._in_memory(filename, size)
                return
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def _in_memory(self, filename: str, size: int) -> None:
        self._f = None  # type: ignore[assignment]
        self._fname = filename
        self._capacity = size
        self._m = mmap.mmap(-1, size)
        self._positions = {}
        self._used = _HEADER

    def _init_value(self, key: str) -> None:
        encoded = key.encode("utf-8")
        needed = len(encoded) + 32  # length, padding and two doubles
        if self._used + needed > self._capacity and not self._grow():
            self._lost[key] = (0.0, 0.0)
            return
        padded = encoded + b" " * (8 - (len(encoded) + 4) % 8)
        entry = struct.pack(f"i{len(padded)}sdd", len(encoded), padded, 0.0, 0.0)
        self._m[self._used : self._used + len(entry)] = entry
        self._used += len(entry)
        self._m[0:4] = struct.pack("i", self._used)
        self._positions[key] = self._used - 16

    def _grow(self) -> bool:
        if self._f is None or not _allocate(self._fname, self._capacity * 2):  # type: ignore[redundant-expr]
            return False
        self._capacity *= 2
        self._m = mmap.mmap(self._f.fileno(), self._capacity)
        return True

    def read_value(self, key: str) -> tuple[float, float]:
        """Return a value and its timestamp, making the entry when it is new."""
        if key not in self._positions and key not in self._lost:
            self._init_value(key)
        if key in self._lost:
            return self._lost[key]
        found: tuple[float, float] = super().read_value(key)  # type: ignore[no-untyped-call]
        return found

    def write_value(self, key: str, value: float, timestamp: float) -> None:
        """Set a value and its timestamp."""
        if key in self._lost:
            self._lost[key] = (value, timestamp)
        else:
            super().write_value(key, value, timestamp)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Unmap and close the file."""
        if self._f is not None:
            super().close()  # type: ignore[no-untyped-call]


def _allocate(filename: str, size: int) -> bool:
    descriptor = -1
    try:
        descriptor = os.open(filename, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        _LOG.error("figures are counted in memory only: %s: %s", filename, error)
        return False
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return True


def install() -> None:
    """Make the library use these files; before the first metric is made."""
    replaced: Any = AllocatedDict
    vars(values)["MmapedDict"] = replaced
