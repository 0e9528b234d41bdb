"""DNS labels of peers, made from their names (reference API 13.1)."""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final

import idna

MAX_LABEL: Final = 63
MAX_BASE: Final = 50
_FOREIGN: Final = re.compile(r"[^a-z0-9-]")
_EDGES: Final = re.compile(r"^-+|-+$")
_VALID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def is_label(text: str) -> bool:
    """Tell whether `text` is a DNS label in the form in which peers have them."""
    return _VALID.fullmatch(text) is not None


def base_label(name: str) -> str:
    """Return the label that the first part of a peer's name gives; never empty."""
    first = name.split(".", maxsplit=1)[0].strip().lower()
    if not first.isascii():
        with suppress(UnicodeError):  # includes idna.IDNAError: keep what is ASCII
            first = idna.encode(first, uts46=True).decode("ascii")
    label = _EDGES.sub("", _FOREIGN.sub("-", first)[:MAX_BASE])
    return label or "peer"


def free_label(name: str, ip: str, *, taken: Callable[[str], bool]) -> str:
    """Return the label for a peer: that of its name, else with its address appended.

    `taken` tells whether another peer has a label. The last two octets tell apart
    peers of one name; a counter does where even these agree.
    """
    base = base_label(name)
    third, fourth = ip.split(".")[2:] if ip.count(".") == 3 else ("0", "0")  # noqa: PLR2004 - octets of IPv4
    candidates = (f"{base}-{third}-{fourth}-{number}" for number in count(2))
    for label in (base, f"{base}-{third}-{fourth}"):
        if not taken(label):
            return label
    return next(label for label in candidates if not taken(label))
