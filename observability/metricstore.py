"""Values that several processes share, in files whose space is really there.

Takes the place of prometheus_client's values. Those map sparse files: on a full disk the
first write to such a page kills the process with SIGBUS [seen: each request took a
worker with it]. Here space is allocated before it is mapped, and what cannot be
allocated is counted in memory alone: figures may suffer from a full disk, requests not.
A value is one double in the map, written in place, which costs a request a quarter of
what the library's packing and checking does.

The files have the library's format (see `observability.metricfiles`).
"""

import json
import logging
import mmap
import os
import struct
import threading
from collections.abc import MutableSequence, Sequence
from pathlib import Path
from typing import Any, Final, cast

from prometheus_client import values

_LOG: Final = logging.getLogger(__name__)
_HEADER: Final = 8
_DOUBLE: Final = 8
_USED: Final = struct.Struct("=i")
# Big enough for all routes, so that a file grows seldom; histograms have most entries.
_INITIAL: Final = 1 << 18
_INITIAL_HISTOGRAM: Final = 1 << 20

Doubles = MutableSequence[float]
Slot = tuple[Doubles, int]
"""Doubles, and where in them a value is; its timestamp is the one behind it."""


class _File:
    """The doubles of one kind of metric in one process; slots are never given back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used = _HEADER
        size = _INITIAL_HISTOGRAM if path.name.startswith("histogram") else _INITIAL
        self.slots: dict[bytes, Slot] = {}
        self.map: mmap.mmap | None = None
        self.doubles: Doubles = []
        if self._map(size):
            self._publish()

    def slot(self, key: bytes) -> Slot:
        """Return where the value of `key` is."""
        found = self.slots.get(key)
        if found is None:
            found = self.slots[key] = self._append(key)
        return found

    def _append(self, key: bytes) -> Slot:
        padding = b" " * (8 - (len(key) + 4) % 8)
        entry = _USED.pack(len(key)) + key + padding + bytes(2 * _DOUBLE)
        end = self.used + len(entry)
        if self.map is None or (end > len(self.map) and not self._map(2 * end)):
            return [0.0, 0.0], 0
        self.map[self.used : end] = entry
        self.used = end
        self._publish()
        return self.doubles, end // _DOUBLE - 2

    def _publish(self) -> None:
        """Let readers see all entries that are complete."""
        assert self.map is not None
        self.map[:4] = _USED.pack(self.used)

    def _map(self, size: int) -> bool:
        """Map the file at `size` bytes, rounded up; earlier maps show the same pages."""
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path, flags, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, size)
                self.map = mmap.mmap(descriptor, size)
            finally:
                os.close(descriptor)
        except OSError as error:
            _LOG.error("figures are counted in memory only: %s: %s", self.path, error)
            return False
        self.doubles = cast("Doubles", memoryview(self.map).cast("d"))
        return True


class _Store:
    """The files of this process, and the values in them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.files: dict[str, _File] = {}
        self.values: list[SharedValue] = []

    def file(self, kind: str) -> _File:
        found = self.files.get(kind)
        if found is None:
            directory = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
            found = _File(directory / f"{kind}_{os.getpid()}.db")
            self.files[kind] = found
        return found

    def after_fork(self) -> None:
        """Begin at zero in files of one's own; the parent's are the parent's."""
        self.lock = threading.Lock()
        self.files = {}
        for value in self.values:
            value.place()


_store: Final = _Store()
os.register_at_fork(after_in_child=_store.after_fork)


class SharedValue:
    """A number of this process that a scrape of any process sees."""

    _multiprocess = True

    def __init__(  # noqa: PLR0917 - the library passes them so
        self,
        typ: str,
        metric_name: str,
        name: str,
        labelnames: Sequence[str],
        labelvalues: Sequence[str],
        help_text: str,
        multiprocess_mode: str = "",
        **_: Any,
    ) -> None:
        self._kind = f"{typ}_{multiprocess_mode}" if typ == "gauge" else typ
        labels = dict(zip(labelnames, labelvalues, strict=True))
        key = [metric_name, name, labels, help_text]
        self._key = json.dumps(key, sort_keys=True).encode()
        with _store.lock:
            self.place()
            _store.values.append(self)

    def place(self) -> None:
        """Find the value's place in the files of this process."""
        self._lock = threading.Lock()
        self._doubles, self._index = _store.file(self._kind).slot(self._key)

    def inc(self, amount: float) -> None:
        """Add to the value."""
        with self._lock:
            self._doubles[self._index] += amount

    def set(self, value: float, timestamp: float | None = None) -> None:
        """Replace the value."""
        with self._lock:
            self._doubles[self._index] = value
            self._doubles[self._index + 1] = timestamp or 0.0

    def get(self) -> float:
        """Return the value in this process."""
        return float(self._doubles[self._index])

    def set_exemplar(self, exemplar: object) -> None:
        """Do nothing: text format 0.0.4 has no exemplars."""

    def get_exemplar(self) -> None:
        """Return None: there are no exemplars."""


def install() -> None:
    """Make the library keep its values here, before the first metric is made.

    Without `PROMETHEUS_MULTIPROC_DIR` its own values, in memory, are just right.
    """
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        vars(values)["ValueClass"] = SharedValue
