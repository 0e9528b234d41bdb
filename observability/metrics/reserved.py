"""Files of figures whose blocks are there before anything is written into them.

The library maps files into memory that are larger than what was written: who writes on
into such a hole while the disk is full is killed (SIGBUS).

To be imported once `PROMETHEUS_MULTIPROC_DIR` is set, for the library is.
"""

import errno
import os
import time
from pathlib import Path
from typing import Any, Final

from prometheus_client import mmap_dict, values

from meshmgmt.core.files import written

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_FIRST_BYTES: Final = 1 << 16
_AGAIN_SECONDS: Final = 10.0
_BESIDE: Final = 64
"""More bytes than a value takes beside its key."""


_MmapedDict: Any = mmap_dict.MmapedDict


class Reserved(_MmapedDict):  # type: ignore[misc]
    """Raises OSError where the disk is full: when it is made, or takes in another key."""

    def __init__(self, filename: str) -> None:
        with open(filename, "ab") as file:  # noqa: PTH123 - a text, as the library has it
            _reserve(file.fileno(), _FIRST_BYTES)
        super().__init__(filename)

    def _init_value(self, key: str) -> None:
        needed = self._used + len(key.encode()) + _BESIDE
        if needed > self._capacity:
            # As the library does, which then finds the file as large as it makes it.
            _reserve(self._f.fileno(), self._capacity * 2)
        super()._init_value(key)


class Shared(Reserved):
    """What one process counts: in memory, where no scrape sees it, while the disk is full.

    What the file holds by then stays there until all of it can be written again.
    """

    def __init__(self, filename: str) -> None:
        self._path = filename
        try:
            super().__init__(filename)
        except OSError as error:
            self._go_into_memory(error, b"")

    def _init_value(self, key: str) -> None:
        try:
            super()._init_value(key)
        except OSError as error:
            # Nothing is logged: log lines are counted, and the caller has the lock.
            self._go_into_memory(error, self._m[: self._used])
            super()._init_value(key)

    def _go_into_memory(self, full: OSError, counted: bytes) -> None:
        if full.errno not in _FULL:
            raise full
        descriptor = os.memfd_create("figures")
        os.write(descriptor, counted)
        self._begin_anew(f"/proc/self/fd/{descriptor}")
        os.close(descriptor)
        self.__class__ = _InMemory
        self._again = time.monotonic() + _AGAIN_SECONDS

    def _begin_anew(self, filename: str) -> None:
        if hasattr(self, "_m"):
            self.close()
        Reserved.__init__(self, filename)


class _InMemory(Shared):
    """Goes back to its file once the disk has room: looks now and then, as it counts."""

    def write_value(self, key: str, value: float, timestamp: float) -> None:
        super().write_value(key, value, timestamp)
        if time.monotonic() < self._again:
            return
        self._again = time.monotonic() + _AGAIN_SECONDS
        path = Path(self._path)
        try:
            with written(path, lambda whole: whole.replace(path)) as file:
                file.write(self._m[:])  # all of it, so that all has its blocks
        except OSError:
            return
        self._begin_anew(self._path)
        self.__class__ = Shared


def use() -> None:
    """Have the library keep values so; it asks nobody what it keeps them in."""
    library: Any = values
    library.MmapedDict = Shared


def _reserve(descriptor: int, size: int) -> None:
    """Have the disk set blocks aside for so much of a file. Raises OSError when full."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno in _FULL:
            raise
        # A file system that cannot do that: the file is as it would be without.
