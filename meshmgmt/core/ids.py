"""Identifiers: 20 characters `0-9a-v`, ordered by time of creation.

Twelve bytes in base32hex, as the clients of the reference API know them (rs/xid): 6 bytes
of milliseconds since the epoch, then 6 bytes that count up within a process from a random
start. Ids made one after the other in a process sort in the order they were made.
"""

import re
import secrets
import threading
import time
from typing import Final

_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuv"
_PATTERN: Final = re.compile(r"[0-9a-v]{20}")
_TAIL_BITS: Final = 48
ID_LENGTH: Final = 20


class _Sequence:
    """The (millisecond, tail) pair of the last id, never going back."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.last = (0, 0)

    def take(self) -> tuple[int, int]:
        with self.lock:
            now = time.time_ns() // 1_000_000
            moment, tail = self.last
            if now > moment:
                # The top bit stays clear, so counting up within the millisecond
                # cannot overflow the field.
                self.last = (now, secrets.randbits(_TAIL_BITS - 1))
            else:
                # Also when the clock was set back: ids never go back.
                self.last = (moment, tail + 1)
            return self.last


_sequence = _Sequence()


def new_id() -> str:
    """Return a new identifier; later calls in a process return greater ones."""
    moment, tail = _sequence.take()
    number = (moment << _TAIL_BITS | tail) << 4  # 96 bits in 20 digits of 5 bits
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(95, -1, -5))


def is_id(text: str) -> bool:
    """Tell whether `text` has the form of an identifier of ours."""
    return _PATTERN.fullmatch(text) is not None
