"""Reads a log once, to its end: a file, a compressed one, or a pipe."""

import select
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import zstandard

STANDARD_INPUT: Final = "-"
MAX_LINE: Final = 2**20
"""Of a longer line the middle is dropped, so that a file without line ends fits memory."""

_CHUNK: Final = 2**16
_IDLE_SECONDS: Final = 1.0
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW: Final = 31
_BOM: Final = b"\xef\xbb\xbf"


class LogFault(Exception):
    """A log that cannot be read, or not any further; says why."""


@contextmanager
def open_log(name: str) -> Iterator[Any]:
    """Yield a buffered binary file. Raises LogFault."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise LogFault("standard input is closed")
        yield sys.stdin.buffer
        return
    try:
        file = open(name, "rb")  # noqa: SIM115, PTH123 - closed below; errors are ours
    except OSError as error:
        raise LogFault(f"{name} cannot be read: {error.strerror}") from error
    with file:
        yield file


def lines(file: Any) -> Iterator[bytes | None]:
    """Yield lines without their ends; None when a pipe was silent for a second.

    Raises LogFault.
    """
    rest = b""
    for piece in _pieces(file):
        if not piece:
            yield None
            continue
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        rest = rest[:MAX_LINE]
    if rest:
        yield rest


def _pieces(file: Any) -> Iterator[bytes]:
    """Yield what can be read, nothing while a pipe is silent."""
    start = file.peek(len(_ZSTD))
    if start.startswith(_GZIP):
        yield from _unpacked(file, lambda: zlib.decompressobj(_GZIP_WINDOW))
    elif start.startswith(_ZSTD):
        yield from _unpacked(file, zstandard.ZstdDecompressor().decompressobj)
    else:
        # First what peek() took from the pipe, where select() does not see it.
        yield file.read1(_CHUNK).removeprefix(_BOM)
        while True:
            while not select.select([file], [], [], _IDLE_SECONDS)[0]:
                yield b""
            if not (piece := file.read1(_CHUNK)):
                return
            yield piece


def _unpacked(file: Any, new_engine: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content; gzip members and zstd frames may follow one another."""
    engine = None
    packed = file.read1(_CHUNK)
    while packed:
        engine = engine or new_engine()
        try:
            yield engine.decompress(packed)
        except (zlib.error, zstandard.ZstdError) as error:
            raise LogFault(f"the log is damaged: {error}") from error
        packed = b""
        if engine.eof:
            # Archives are padded with zeros, which gzip(1) ignores, too.
            packed, engine = engine.unused_data.lstrip(b"\0"), None
        packed = packed or file.read1(_CHUNK)
    if engine is not None:
        raise LogFault("the log is damaged: it ends too early")
