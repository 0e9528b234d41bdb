"""Lines, and how far a log was read."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Self

BOM: Final = b"\xef\xbb\xbf"
HEAD_BYTES: Final = 1024
TAIL_BYTES: Final = 256
MAX_LINE: Final = 2**20
"""Of a longer line the rest is dropped, so that a file without line ends fits memory."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Some bytes of a file, told again without keeping them."""

    length: int = 0
    digest: str = ""

    @classmethod
    def of(cls, raw: bytes) -> Self:
        """Return the fingerprint of `raw`."""
        return cls(len(raw), blake2b(raw, digest_size=16).hexdigest())

    def fits(self, raw: bytes) -> bool:
        """Tell whether `raw` are the bytes."""
        return self.length == 0 or self == self.of(raw)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far which file was read: up to the byte `position`, which ends line `number`.

    `head` are the file's first bytes and `tail` the last ones before `position`. They tell
    a file that goes on from one that was emptied or exchanged in between.
    """

    inode: int = 0
    position: int = 0
    number: int = 0
    head: Fingerprint = Fingerprint()
    tail: Fingerprint = Fingerprint()


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it was read; `end` is the offset of the next one."""

    number: int
    raw: bytes
    end: int

    @property
    def text(self) -> bytes:
        """The line without its end and without a byte order mark."""
        text = self.raw.rstrip(b"\r\n")
        return text.removeprefix(BOM) if self.number == 1 else text


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing more to read for now: a moment to store what was read."""


class Splitter:
    """Cuts bytes into lines, whatever pieces they come in."""

    def __init__(self, end: int = 0, number: int = 0) -> None:
        self.end = end
        self.number = number
        self._rest = b""
        self._dropped = 0

    @property
    def seen(self) -> int:
        """Offset of the byte after the last one that was fed."""
        return self.end + len(self._rest) + self._dropped

    def feed(self, data: bytes) -> Iterator[Line]:
        """Yield the lines that `data` completes."""
        pieces = data.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            yield self._line(piece, b"\n")
        self._keep(last)

    def unfinished(self) -> Line | None:
        """Return what is there of a line without an end."""
        return self._line(b"", b"") if self._rest else None

    def forget_unfinished(self) -> None:
        """Go back to the end of the last line."""
        self._rest, self._dropped = b"", 0

    def _keep(self, piece: bytes) -> None:
        kept = piece[: MAX_LINE - len(self._rest)]
        self._rest += kept
        self._dropped += len(piece) - len(kept)

    def _line(self, piece: bytes, ending: bytes) -> Line:
        if self._rest:
            self._keep(piece)
            raw = self._rest + ending
        else:
            raw = piece + ending
        self.number += 1
        self.end += len(raw) + self._dropped
        # Of a line that was cut the bytes before its end are not known.
        self.last = b"" if self._dropped else raw
        self.forget_unfinished()
        return Line(self.number, raw, self.end)

    last: bytes = b""
    """The last line with its end; "" when there was none or it was cut."""
