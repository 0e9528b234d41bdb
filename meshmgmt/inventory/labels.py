"""DNS labels of peers, made from their names (reference API 13.1)."""

import re
from collections.abc import Callable
from itertools import count
from typing import Final

import idna

MAX_LABEL: Final = 63
MAX_PLAIN: Final = 59  # where the reference cuts
MAX_BASE: Final = 55  # leaves room for "-255-255"
MAX_EXTRA: Final = 190  # of an extra label, so that a domain still fits behind it
_FOREIGN: Final = re.compile(r"[^a-z0-9-]+", re.ASCII)
_FOREIGN_ASCII: Final = re.compile(r"[\x00-\x2c\x2f:-`{-\x7f]+")
_VALID: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_EXTRA_PART: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_EXTRA: Final = re.compile(rf"(?:\*\.)?{_EXTRA_PART}(?:\.{_EXTRA_PART})*")


def is_label(text: str) -> bool:
    """Tell whether `text` is a DNS label in the form in which peers have them."""
    return _VALID.fullmatch(text) is not None


def is_extra_label(text: str) -> bool:
    """Tell whether `text` may be a further name of a peer, below the peers' domain.

    Labels with dots between them, underscores allowed, perhaps `*.` before them.
    """
    return len(text) <= MAX_EXTRA and _EXTRA.fullmatch(text) is not None


def base_label(name: str, limit: int = MAX_PLAIN) -> str:
    """Return the label that the first part of a peer's name gives; never empty."""
    first = name.split(".", maxsplit=1)[0].strip().lower()
    if not first.isascii():
        # IDNA refuses the whole name for one such character.
        first = _to_ascii(_FOREIGN_ASCII.sub("-", first), limit)
    label = _FOREIGN.sub("-", first)[:limit].strip("-")
    return label or "peer"


def _to_ascii(text: str, limit: int) -> str:
    """Return the A-label; what IDNA forbids is encoded as it is (RFC 3492)."""
    try:
        encoded = idna.encode(text, uts46=True).decode("ascii")
    except UnicodeError:  # includes idna.IDNAError
        encoded = f"xn--{text.encode('punycode').decode('ascii')}"
    # Part of an A-label would stand for other characters.
    return encoded if len(encoded) <= limit else text


def full_name(label: str, domain: str) -> str:
    """Return the name of a peer in the domain of the peers, "" for none."""
    return f"{label}.{domain}" if domain else label


def free_label(
    name: str, ip: str, *, taken: Callable[[str], bool], suffixed: bool = False
) -> str:
    """Return the label for a peer: that of its name, else with its address appended.

    `taken` tells whether another peer has a label. The last two octets tell apart
    peers of one name; a counter does where even these agree. `suffixed` asks for them
    at once.
    """
    plain = base_label(name)
    if not suffixed and not taken(plain):
        return plain
    third, fourth = ip.split(".")[2:]
    tail = f"-{third}-{fourth}"
    tails = (tail if number == 1 else f"{tail}-{number}" for number in count(1))
    candidates = (_with_tail(name, tail) for tail in tails)
    return next(label for label in candidates if not taken(label))


def _with_tail(name: str, tail: str) -> str:
    return base_label(name, min(MAX_BASE, MAX_LABEL - len(tail))) + tail
