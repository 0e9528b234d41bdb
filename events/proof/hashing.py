"""Hashes and signatures: leaves, roots and paths of RFC 9162, and tree heads. No Django.

What is hashed or signed is canonical JSON (RFC 8785): the one text of a value that all
write alike.
"""

import json
import math
from base64 import b64decode
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

LEAF_FIELDS: Final = (
    "id",
    "timestamp",
    "activity_code",
    "initiator_id",
    "initiator_name",
    "initiator_email",
    "target_id",
    "target_type",
    "meta",
    "changes",
    "request_id",
    "source_address",
    "token_id",
)
"""What of an exported event is proven: all but `activity`, our words for its code."""

_EVENT_FIELDS: Final = frozenset({*LEAF_FIELDS, "activity"})

HEAD_FIELDS: Final = ("key_id", "root_hash", "timestamp", "tree_size")
HEAD_PREFIX: Final = b"audit-tree-head/1\n"

HASH_BYTES: Final = 32
_EXACT: Final = 2**53
_PLAIN_DIGITS: Final = 21
_SMALLEST_PLAIN: Final = -6
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of a value. Raises ValueError for what has none."""
    return _json(value).encode()


def _json(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    # By identity, and before numbers: True equals 1, and bool is an int.
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    # Larger ones are floats to ECMAScript, which the RFC writes numbers as.
    if isinstance(value, int) and abs(value) <= _EXACT:
        return str(value)
    if isinstance(value, int | float):
        return _number(float(value))
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, dict):
        # The RFC sorts by UTF-16 units; code points beyond U+FFFF sort otherwise.
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        pairs = (f"{_quoted(name)}:{_json(value[name])}" for name in names)
        return f"{{{','.join(pairs)}}}"
    raise ValueError(f"{type(value).__name__} is not JSON")


def _number(value: float) -> str:
    """Return a number as ECMAScript writes it (Number::toString)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    if value == 0:  # -0 too
        return "0"
    sign = "-" if value < 0 else ""
    # repr() finds the shortest digits that are this float, as ECMAScript asks.
    parts = Decimal(repr(abs(value))).normalize().as_tuple()
    digits = "".join(map(str, parts.digits))
    point = len(digits) + int(parts.exponent)
    if _SMALLEST_PLAIN < point <= _PLAIN_DIGITS:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        whole, rest = digits[:point].ljust(point, "0"), digits[point:]
        return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def leaf_hash(event: dict[str, Any]) -> bytes:
    """Return the leaf of an event as the NDJSON export shows it.

    Raises ValueError for one that says more, which nothing would prove.
    """
    if added := event.keys() - _EVENT_FIELDS:
        raise ValueError(f"no event has {', '.join(sorted(added))}")
    proven = {name: event[name] for name in LEAF_FIELDS}
    # Other first bytes for leaves and nodes, or a node could be passed off as an event.
    return sha256(b"\0" + canonical(proven)).digest()


def inner_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


class Peaks:
    """The roots of the complete subtrees of a growing tree, the largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        # Each 1 at the end of the size is a peak as large as what it is joined with.
        place, node = self.size, leaf
        while place & 1:
            node = inner_hash(self._peaks.pop(), node)
            place >>= 1
        self._peaks.append(node)
        self.size += 1

    def root(self) -> bytes:
        if not self._peaks:
            return sha256().digest()
        *others, node = self._peaks
        for peak in reversed(others):
            node = inner_hash(peak, node)
        return node


def root_of(leaves: Iterable[bytes]) -> bytes:
    peaks = Peaks()
    for leaf in leaves:
        peaks.add(leaf)
    return peaks.root()


def proves_inclusion(
    leaf: bytes, index: int, size: int, path: list[bytes], root: bytes
) -> bool:
    """Tell whether `leaf` is at `index` of the tree (section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, node = index, size - 1, leaf
    for beside in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            node = inner_hash(beside, node)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            node = inner_hash(node, beside)
        place, last = place >> 1, last >> 1
    return last == 0 and node == root


def proves_consistency(
    first: int, second: int, path: list[bytes], first_root: bytes, second_root: bytes
) -> bool:
    """Tell whether the first tree is the beginning of the second (section 2.1.4.2)."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not path and first_root == second_root
    # A first tree that is complete is a node of the second; its path leaves that out.
    if first & (first - 1) == 0:
        path = [first_root, *path]
    if not path:
        return False
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for beside in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = inner_hash(beside, old), inner_hash(beside, new)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            new = inner_hash(new, beside)
        place, last = place >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def head_text(head: dict[str, Any]) -> bytes:
    """Return what the signature of a tree head signs."""
    return HEAD_PREFIX + canonical({name: head[name] for name in HEAD_FIELDS})


def parse_head(text: bytes) -> dict[str, Any]:
    """Return a tree head out of its JSON. Raises ValueError."""
    head = json.loads(text)
    try:
        texts = [head[name] for name in ("key_id", "signature", "timestamp")]
        size, root = head["tree_size"], bytes.fromhex(head["root_hash"])
        instant(head["timestamp"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"a tree head has another form ({error!r})") from error
    # Not isinstance(): true is an int to Python, and another text when it is signed.
    if type(size) is not int or not all(type(text) is str for text in texts):
        raise ValueError("a tree head has other types")
    if size < 1 or len(root) != HASH_BYTES:
        raise ValueError("a tree head has a size from 1 on, and a SHA-256")
    return {name: head[name] for name in (*HEAD_FIELDS, "signature")}


def head_fault(head: dict[str, Any], keys: list[dict[str, Any]]) -> str:
    """Return what is wrong with the signature of a head, "" when it is good."""
    key = next((key for key in keys if key["key_id"] == head["key_id"]), None)
    if key is None:
        return f"it is signed by {head['key_id']}, which is none of the keys"
    try:
        public = Ed25519PublicKey.from_public_bytes(b64decode(key["public_key"]))
        public.verify(b64decode(head["signature"]), head_text(head))
    except (InvalidSignature, ValueError):
        return "its signature is not that of the key"
    signed, until = instant(head["timestamp"]), key["valid_until"]
    if signed < instant(key["valid_from"]) or (until and signed > instant(until)):
        return "it is signed at a time at which its key was not valid"
    return ""


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
