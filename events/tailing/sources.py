"""Log files as they lie on the disk, compressed ones included."""

import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import zstandard

from events.tailing.lines import Mark

CHUNK: Final = 2**18
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW: Final = 31


class SourceFault(Exception):
    """A log that cannot be read, or not any further; says why."""


class LogFile:
    """An open log. Bytes are read by their offset in the log as it was written."""

    packed = False

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path
        self.inode = os.fstat(descriptor).st_ino

    @classmethod
    def open(cls, path: Path) -> "LogFile":
        """Open a regular file. Raises OSError, SourceFault."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise SourceFault(f"{path} is not a regular file")
        start = os.pread(descriptor, len(_ZSTD), 0)
        if start.startswith((_GZIP, _ZSTD)):
            return PackedLogFile(descriptor, path)
        return cls(descriptor, path)

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def state(self) -> os.stat_result:
        """Return size, times and so on of the file as they are now."""
        return os.fstat(self.descriptor)

    def read_at(self, offset: int) -> bytes:
        """Return some bytes from `offset` on; none at the end. Raises SourceFault."""
        try:
            return os.pread(self.descriptor, CHUNK, offset)
        except OSError as error:
            raise SourceFault(f"{self.path}: {error.strerror}") from error

    def part(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset` on. Raises SourceFault."""
        found = b""
        while len(found) < length:
            piece = self.read_at(offset + len(found))
            if not piece:
                break
            found += piece[: length - len(found)]
        return found

    def done(self, offset: int) -> int:
        """Return how many bytes of the file itself were read to get to `offset`."""
        return offset

    def begins_like(self, mark: Mark) -> bool:
        """Tell whether the first bytes are those of the log that `mark` is of."""
        return mark.head.fits(self.part(0, mark.head.length))

    def holds(self, mark: Mark) -> bool:
        """Tell whether this is the log that `mark` is of, read up to there."""
        if not self.begins_like(mark):
            return False
        length = mark.tail.length
        return mark.tail.fits(self.part(mark.position - length, length))


class PackedLogFile(LogFile):
    """A log compressed by gzip or zstd; offsets count the bytes before compression."""

    packed = True

    def __init__(self, descriptor: int, path: Path) -> None:
        super().__init__(descriptor, path)
        self._rewind()

    def _rewind(self) -> None:
        self._taken = self._offset = 0
        self._buffer = b""
        self._pieces = self._unpacked()

    def read_at(self, offset: int) -> bytes:
        """Return some bytes from `offset` on; forwards is fast, backwards begins anew."""
        if offset < self._offset:
            self._rewind()
        while offset >= self._offset + len(self._buffer):
            self._offset += len(self._buffer)
            self._buffer = next(self._pieces, b"")
            if not self._buffer:
                return b""
        return self._buffer[offset - self._offset :]

    def done(self, offset: int) -> int:
        """Return how many compressed bytes were read."""
        return self._taken

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the content; gzip members and zstd frames may follow one another."""
        engine: Any = None
        packed = self._packed()
        while packed or engine is not None:
            if engine is None:
                engine = self._engine(packed)
            try:
                data = engine.decompress(packed)
            except (zlib.error, zstandard.ZstdError) as error:
                raise SourceFault(f"{self.path} is damaged: {error}") from error
            if data:
                yield data
            packed = b""
            if engine.eof:
                packed, engine = engine.unused_data.lstrip(b"\0"), None
            more = packed or self._packed()
            if not more and engine is not None:
                raise SourceFault(f"{self.path} is damaged: it ends too early")
            packed = more

    def _packed(self) -> bytes:
        piece = super().read_at(self._taken)[: CHUNK // 4]
        self._taken += len(piece)
        return piece

    def _engine(self, start: bytes) -> Any:
        if start.startswith(_ZSTD):
            return zstandard.ZstdDecompressor().decompressobj()
        return zlib.decompressobj(_GZIP_WINDOW)
