"""Checks an audit trail without trusting the service that wrote it.

`manage.py audit verifier` prints this as one file on Python 3.11, its standard library and
`cryptography`, to be copied to where exports and signed tree heads are kept. Ends with
status 0 when everything is as the head says, 1 when not, 2 when it cannot tell.
"""

import argparse
import json
import math
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from events.proof.hashing import (
    Peaks,
    head_fault,
    leaf_hash,
    parse_head,
    proves_consistency,
    proves_inclusion,
)

PRUNED: Final = "audit.prune"
"""Activity of the events by which retention tells what it removed."""


class CannotTell(Exception):
    """A file that was given is not what it should be; one sentence."""


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
        self._told: set[tuple[int, int]] = set()
        self._merged: list[tuple[int, int]] = []

    def note(self, event: dict[str, Any]) -> None:
        """Take `1-500, 512` out of an event of retention. Raises ValueError."""
        for part in event["meta"]["ids"].split(", "):
            first, _, last = part.partition("-")
            self._told.add((int(first), int(last or first)))
        self._merged = []

    def __contains__(self, number: int) -> bool:
        ranges = self.ranges()
        place = bisect_right(ranges, (number, math.inf)) - 1
        return place >= 0 and number <= ranges[place][1]

    def __str__(self) -> str:
        return ", ".join(f"{first}-{last}" for first, last in self.ranges())

    def ranges(self) -> list[tuple[int, int]]:
        """Return first and last id of each run that was removed, in order."""
        if not self._merged:
            for first, last in sorted(self._told):
                before, end = self._merged[-1] if self._merged else (0, -1)
                if first <= end + 1:
                    self._merged[-1] = before, max(last, end)
                else:
                    self._merged.append((first, last))
        return self._merged


@dataclass(frozen=True, slots=True)
class Line:
    """An event of an export, and where it stands."""

    number: int
    id: int
    leaf: bytes


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
            line = Line(number, int(event["id"]), leaf_hash(event))
            if event["activity_code"] == PRUNED:
                self.removals.note(event)
        # A forged line may be any JSON: a list, a number, ten thousand brackets.
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.faults.append(f"unreadable: line {number} is no event of an export")
            return
        if line.id in self.lines:
            self.faults.append(f"added: event {line.id} again (line {number})")
            return
        self.lines[line.id] = line

    def by_id(self) -> list[Leaf]:
        return [(number, self.lines[number].leaf) for number in sorted(self.lines)]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    # Python keeps the last, other readers the first: one text, two events.
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(text: str) -> None:
    # Python's parser takes NaN and Infinity.
    raise ValueError(f"{text} is not JSON")


# Commands


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_pairs)
    except (OSError, ValueError) as error:
        raise CannotTell(f"{path} cannot be read: {error}") from error


def read_heads(path: Path) -> list[dict[str, Any]]:
    """Return the heads in a file, by size: one as JSON, or one a line."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CannotTell(f"{path} cannot be read: {error}") from error
    lines = text.splitlines(keepends=True)
    if len(lines) > 1 and not lines[-1].endswith(b"\n"):
        sys.stderr.write(f"{path}: the last line was cut off, and is not looked at\n")
        lines.pop()
    try:
        found = [parse_head(line) for line in lines if line.strip()]
    except ValueError:
        found = [_head_of(path, text)]
    if not found:
        raise CannotTell(f"{path} holds no tree head")
    return sorted(found, key=lambda head: int(head["tree_size"]))


def _head_of(path: Path, text: bytes) -> dict[str, Any]:
    try:
        return parse_head(text)
    except ValueError as error:
        raise CannotTell(f"{path} is no tree head: {error}") from error


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
    """Check an NDJSON export, in any order, against heads; name what was changed."""
    heads = read_heads(options.head)
    if faults := signature_faults(heads, options):
        return faults, ""
    # The largest tree covers all others, which then prove that it grew from them.
    newest = heads[-1]
    size, moment = newest["tree_size"], newest["timestamp"]
    export = read_export(options.export)
    faults = [*export.faults]
    gone = 0
    if options.leaves is None:
        leaves = export.by_id()[:size]
        faults += against_roots(leaves, heads)
    else:
        leaves = read_leaves(options.leaves)
        if len(leaves) != size or unfit(leaves, heads):
            return ["leaves: they are of another tree than the head"], ""
        found, gone = against_leaves(export, leaves)
        faults += [text for text in found if not (options.part and "removed" in text)]
    newer = sum(1 for number in export.lines if not leaves or number > leaves[-1][0])
    if faults:
        plural = "" if len(faults) == 1 else "s"
        return faults, f"{len(faults)} fault{plural} against the head of {moment}"
    seen = f"{len(export.lines) - newer} events are those of the head of"
    seen += f" {moment} ({size} events)"
    seen += f" and of {len(heads) - 1} before it" if len(heads) > 1 else ""
    seen += f"; {newer} are newer and not proven by it" if newer else ""
    seen += f"; {gone} were removed by retention: {export.removals}" if gone else ""
    return faults, seen


def signature_faults(
    heads: list[dict[str, Any]], options: argparse.Namespace
) -> list[str]:
    keys = read_json(options.keys)
    found = ((head, head_fault(head, keys)) for head in heads)
    return [f"head of {head['timestamp']}: {fault}" for head, fault in found if fault]


def unfit(leaves: list[Leaf], heads: list[dict[str, Any]]) -> str:
    """Return which leaves are not those of the heads, "" when all are.

    `heads` come by size, of which there are as many leaves.
    """
    peaks, good = Peaks(), 0
    for head in heads:
        for _, leaf in leaves[peaks.size : head["tree_size"]]:
            peaks.add(leaf)
        if peaks.root().hex() != head["root_hash"]:
            first, last = leaves[good][0], leaves[peaks.size - 1][0]
            return f"events {first} to {last}, of the head of {head['timestamp']}"
        good = min(peaks.size, len(leaves) - 1)
    return ""


def against_roots(events: list[Leaf], heads: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with events of which no leaves are known."""
    size = heads[-1]["tree_size"]
    if len(events) < size:
        return [f"removed: {size - len(events)} of {size} events; --leaves names them"]
    if found := unfit(events, heads):
        return [f"changed: something among {found}; --leaves names it"]
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
    event, proof = read_json(options.event), read_json(options.proof)
    heads = read_heads(options.head)
    head = next((h for h in heads if h["tree_size"] == proof["tree_size"]), heads[-1])
    faults = signature_faults([head], options)
    proven = not faults and proves_inclusion(
        leaf_hash(event),
        proof["leaf_index"],
        head["tree_size"],
        [bytes.fromhex(node) for node in proof["inclusion_path"]],
        bytes.fromhex(head["root_hash"]),
    )
    if proven:
        return [], f"event {event['id']} is in the tree of {head['timestamp']}"
    return faults or ["the event is not proven by this"], ""


def check_consistency(options: argparse.Namespace) -> tuple[list[str], str]:
    """Check the proof that the trail of an older head is the beginning of a newer's."""
    old, new = read_heads(options.old)[-1], read_heads(options.new)[-1]
    proof = read_json(options.proof)
    faults = signature_faults([old, new], options)
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


HEAD_HELP: Final = (
    "tree head as JSON, or a file of them, one a line (audit-heads.ndjson)"
)


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
        made.add_argument("--head", type=Path, required=True, help=HEAD_HELP)
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
