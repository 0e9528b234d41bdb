#!/usr/bin/env python3
"""Checks an audit trail without trusting the service that wrote it.

One file on Python 3.11, its standard library and `cryptography`: copy it to where exports
and signed tree heads are kept. The tree is that of RFC 9162 over the canonical JSON
(RFC 8785) of the events; the service itself computes its leaves and heads by this file.
Ends with status 0 when everything is as the head says, 1 when not, 2 when it cannot tell.
"""

import argparse
import json
import math
import sys
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
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

HEAD_FIELDS: Final = ("key_id", "root_hash", "timestamp", "tree_size")
HEAD_PREFIX: Final = b"audit-tree-head/1\n"
PRUNED: Final = "audit.prune"
"""Activity of the events by which retention tells what it removed."""

HASH_BYTES: Final = 32
_EXACT: Final = 2**53
_PLAIN_DIGITS: Final = 21
_SMALLEST_PLAIN: Final = -6
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


class CannotTell(Exception):
    """A file that was given is not what it should be; one sentence."""


# Canonical JSON (RFC 8785)


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of a value. Raises ValueError for what has none."""
    return _json(value).encode()


def _json(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) <= _EXACT:
        return str(value)
    if isinstance(value, int | float):
        return _number(float(value))
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        pairs = (f"{_quoted(name)}:{_json(value[name])}" for name in names)
        return f"{{{','.join(pairs)}}}"
    raise ValueError(f"{type(value).__name__} is not JSON")


def _number(value: float) -> str:
    """Return a number as ECMAScript writes it (Number::toString)."""
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
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


# The tree (RFC 9162, section 2.1)


def leaf_hash(event: dict[str, Any]) -> bytes:
    """Return the leaf of an event as the NDJSON export shows it. Raises ValueError."""
    proven = {name: event[name] for name in LEAF_FIELDS}
    return sha256(b"\0" + canonical(proven)).digest()


def inner_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


class Peaks:
    """The roots of the complete subtrees of a growing tree, the largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def add(self, leaf: bytes) -> None:
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


# Signed heads


def head_text(head: dict[str, Any]) -> bytes:
    """Return what the signature of a tree head signs."""
    return HEAD_PREFIX + canonical({name: head[name] for name in HEAD_FIELDS})


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
    signed, until = _instant(head["timestamp"]), key["valid_until"]
    if signed < _instant(key["valid_from"]) or (until and signed > _instant(until)):
        return "it is signed at a time at which its key was not valid"
    return ""


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


# Comparing a trail with its tree

Leaf = tuple[int, bytes]


def differences(
    leaves: Iterable[Leaf], events: Iterable[Leaf]
) -> Iterator[tuple[str, int]]:
    """Yield "changed", "removed" or "added" and the id of the event.

    Both come in the order of ids. Events after the last leaf are not judged.
    """
    stored = iter(events)
    event = next(stored, None)
    for number, leaf in leaves:
        while event is not None and event[0] < number:
            yield "added", event[0]
            event = next(stored, None)
        if event is None or event[0] > number:
            yield "removed", number
            continue
        if event[1] != leaf:
            yield "changed", number
        event = next(stored, None)


class Removals:
    """Which events retention says that it removed, by the events it wrote of that."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def note(self, event: dict[str, Any]) -> None:
        """Take `1-500, 512` out of an event of retention. Raises ValueError."""
        for part in event["meta"]["ids"].split(", "):
            first, _, last = part.partition("-")
            self.ranges.append((int(first), int(last or first)))

    def __contains__(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.ranges)

    def __str__(self) -> str:
        return ", ".join(f"{first}-{last}" for first, last in sorted({*self.ranges}))


@dataclass(frozen=True, slots=True)
class Line:
    """An event of an export, and where it stands."""

    number: int
    id: int
    leaf: bytes
    timestamp: datetime


@dataclass
class Export:
    """What was read of an export, and what is wrong with it by itself."""

    lines: dict[int, Line] = field(default_factory=dict)
    removals: Removals = field(default_factory=Removals)
    faults: list[str] = field(default_factory=list)

    def add(self, number: int, text: bytes) -> None:
        try:
            event = json.loads(
                text, object_pairs_hook=_pairs, parse_constant=_no_number
            )
            line = Line(
                number, int(event["id"]), leaf_hash(event), _instant(event["timestamp"])
            )
            if event["activity_code"] == PRUNED:
                self.removals.note(event)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.faults.append(f"unreadable: line {number} is no event of an export")
            return
        if line.id in self.lines:
            self.faults.append(f"added: event {line.id} again (line {number})")
            return
        self.lines[line.id] = line

    def by_id(self) -> list[Leaf]:
        return [(number, self.lines[number].leaf) for number in sorted(self.lines)]

    def moved(self) -> Iterator[str]:
        """Yield the lines that stand where neither order of exports has them."""
        lines = list(self.lines.values())
        keys = [(line.timestamp, line.id) for line in lines]
        kept = max(_longest_rising(keys), _longest_rising(keys[::-1]), key=len)
        stay = {id_ for _, id_ in kept}
        for line in lines:
            if line.id not in stay:
                yield f"reordered: event {line.id} (line {line.number})"


def _longest_rising(keys: list[Any]) -> list[Any]:
    """Return the longest part of `keys` that rises, in its order."""
    if all(keys[n] < keys[n + 1] for n in range(len(keys) - 1)):
        return keys
    ends: list[Any] = []
    places: list[int] = []
    before: list[int] = []
    for place, key in enumerate(keys):
        length = bisect_left(ends, key)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [key]
        places[length : length + 1] = [place]
    found = []
    place = places[-1]
    while place >= 0:
        found.append(keys[place])
        place = before[place]
    return found[::-1]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


# Commands


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_pairs)
    except (OSError, ValueError) as error:
        raise CannotTell(f"{path} cannot be read: {error}") from error


def read_export(path: Path) -> Export:
    export = Export()
    try:
        with path.open("rb") as file:
            for number, text in enumerate(_watched(file, path.stat().st_size), 1):
                if text.strip():
                    export.add(number, text)
    except OSError as error:
        raise CannotTell(f"{path} cannot be read: {error}") from error
    return export


def _watched(file: Any, size: int) -> Iterator[bytes]:
    """Yield the lines; on a terminal, tell how many percent are read."""
    done = shown = 0
    for text in file:
        yield text
        done += len(text)
        if sys.stderr.isatty() and done * 100 // size > shown:
            shown = done * 100 // size
            sys.stderr.write(f"\rread: {shown} %" if done < size else "\r\033[K")


def read_leaves(path: Path) -> list[Leaf]:
    try:
        with path.open("rb") as file:
            return [
                (int(leaf["id"]), bytes.fromhex(leaf["hash"]))
                for leaf in map(json.loads, file)
            ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotTell(f"{path} is no list of leaves: {error}") from error


def check_trail(options: argparse.Namespace) -> tuple[list[str], str]:
    """Check an NDJSON export against a head; name what was changed."""
    head = read_json(options.head)
    if fault := head_fault(head, read_json(options.keys)):
        return [f"head: {fault}"], ""
    size, root = head["tree_size"], bytes.fromhex(head["root_hash"])
    export = read_export(options.export)
    faults = [*export.faults, *export.moved()]
    gone = 0
    if options.leaves is None:
        leaves = export.by_id()[:size]
        faults += against_root(leaves, size, root)
    else:
        leaves = read_leaves(options.leaves)
        if len(leaves) != size or root_of(leaf for _, leaf in leaves) != root:
            return ["leaves: they are of another tree than the head"], ""
        found, gone = against_leaves(export, leaves)
        faults += [text for text in found if not (options.part and "removed" in text)]
    newer = sum(1 for number in export.lines if not leaves or number > leaves[-1][0])
    if faults:
        return faults, f"{len(faults)} faults against the head of {head['timestamp']}"
    seen = f"{len(export.lines) - newer} events are those of the head of"
    seen += f" {head['timestamp']} ({size} events)"
    seen += f"; {newer} are newer and not proven by it" if newer else ""
    seen += f"; {gone} were removed by retention: {export.removals}" if gone else ""
    return faults, seen


def against_root(events: list[Leaf], size: int, root: bytes) -> list[str]:
    """Return what is wrong with events of which no leaves are known."""
    if len(events) < size:
        return [f"removed: {size - len(events)} of {size} events; --leaves names them"]
    if root_of(leaf for _, leaf in events) != root:
        return ["changed: these are not the events of the head; --leaves names them"]
    return []


def against_leaves(export: Export, leaves: list[Leaf]) -> tuple[list[str], int]:
    """Return the events that differ, and how many retention removed."""
    faults, gone = [], 0
    for kind, number in differences(leaves, export.by_id()):
        if kind != "removed":
            line = export.lines[number].number
            faults.append(f"{kind}: event {number} (line {line})")
        elif number in export.removals:
            gone += 1
        else:
            faults.append(f"removed: event {number}")
    return faults, gone


def check_inclusion(options: argparse.Namespace) -> tuple[list[str], str]:
    """Check the proof that one event is in the tree of a head."""
    head, event = read_json(options.head), read_json(options.event)
    proof = read_json(options.proof)
    fault = head_fault(head, read_json(options.keys))
    proven = not fault and proves_inclusion(
        leaf_hash(event),
        proof["leaf_index"],
        head["tree_size"],
        [bytes.fromhex(node) for node in proof["inclusion_path"]],
        bytes.fromhex(head["root_hash"]),
    )
    if proven:
        return [], f"event {event['id']} is in the tree of {head['timestamp']}"
    return [f"head: {fault}" if fault else "the event is not proven by this"], ""


def check_consistency(options: argparse.Namespace) -> tuple[list[str], str]:
    """Check the proof that the trail of an older head is the beginning of a newer's."""
    old, new = read_json(options.old), read_json(options.new)
    keys, proof = read_json(options.keys), read_json(options.proof)
    faults = [
        f"head: {text}" for text in (head_fault(h, keys) for h in (old, new)) if text
    ]
    proven = not faults and proves_consistency(
        old["tree_size"],
        new["tree_size"],
        [bytes.fromhex(node) for node in proof["consistency_path"]],
        bytes.fromhex(old["root_hash"]),
        bytes.fromhex(new["root_hash"]),
    )
    if proven:
        return (
            [],
            f"{old['tree_size']} events stayed as they were in {new['tree_size']}",
        )
    return faults or ["the newer tree is not proven to go on from the older"], ""


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__)
    commands = found.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, check: Any, *files: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=check.__doc__, description=check.__doc__)
        made.set_defaults(check=check)
        for file in files:
            made.add_argument(file, type=Path, metavar=file.upper())
        made.add_argument(
            "--keys", type=Path, required=True, help="public keys, as JSON"
        )
        return made

    trail = command("trail", check_trail, "export")
    trail.add_argument("--leaves", type=Path, help="hashes of the events, as NDJSON")
    trail.add_argument(
        "--part", action="store_true", help="the export is filtered: do not miss events"
    )
    inclusion = command("inclusion", check_inclusion, "event", "proof")
    for made in (trail, inclusion):
        made.add_argument("--head", type=Path, required=True, help="tree head, as JSON")
    command("consistency", check_consistency, "old", "new", "proof")
    return found


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if getattr(options, "part", False) and options.leaves is None:
        parser().error("--part needs --leaves")
    try:
        faults, seen = options.check(options)
    except CannotTell as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (KeyError, TypeError, ValueError) as error:
        sys.stderr.write(f"a file does not hold what it should: {error!r}\n")
        return 2
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    sys.stdout.write(f"{'FAILED' if faults else 'ok'}{': ' if seen else ''}{seen}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
