"""What a zone file would change: added, changed and removed records."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dns.zonefile.reader import ZoneFile
from dns.zonefile.writer import unwritable
from meshmgmt.mesh.snapshot import Record


@dataclass(frozen=True, slots=True)
class Change:
    """A record that stays the same object with another TTL or content."""

    before: Record
    after: Record


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between a zone and a file, each list in its own order."""

    added: tuple[Record, ...] = ()
    changed: tuple[Change, ...] = ()
    removed: tuple[Record, ...] = ()
    unchanged: int = 0

    def __len__(self) -> int:
        return len(self.added) + len(self.changed) + len(self.removed)

    @property
    def names(self) -> list[str]:
        """The name of each change: first of those in the file, in its order."""
        after = [*(change.after for change in self.changed), *self.added]
        return [record.name for record in [*after, *self.removed]]

    @property
    def fingerprint(self) -> str:
        """A text that is equal for equal changes of the same records."""
        changes = repr((self.added, self.changed, self.removed))
        return hashlib.sha256(changes.encode()).hexdigest()[:32]

    def first(self, count: int) -> "Diff":
        """The first changes: what goes before what comes, so that no alias has company."""
        removed = self.removed[:count]
        changed = self.changed[: count - len(removed)]
        added = self.added[: count - len(removed) - len(changed)]
        return replace(self, added=added, changed=changed, removed=removed)

    def __add__(self, other: "Diff") -> "Diff":
        """What both change together."""
        return Diff(
            self.added + other.added,
            self.changed + other.changed,
            self.removed + other.removed,
            self.unchanged + other.unchanged,
        )


def told(current: Sequence[Record], file: ZoneFile) -> list[Record]:
    """The records of which a file tells whether they shall be there.

    It cannot hold those with names that are too long, so that it lacks them says
    nothing. Of a name that it has, it tells.
    """
    names = {record.name for record in file.records}
    # Files for name servers hold shorter names, and have SOA and NS.
    unheld = set(unwritable(current, authority=bool(file.ignored)))
    return [
        record for record in current if record.name in names or record not in unheld
    ]


def compare(
    current: Sequence[Record], wanted: Sequence[Record], *, merge: bool = False
) -> Diff:
    """How `current` becomes `wanted`; with `merge` nothing is removed.

    A record is changed when only its TTL differs, and also when it is the one
    record of its name and type on both sides (for a merge: when it is a CNAME,
    of which a name can have only one).
    """
    old = {_key(record): record for record in current}
    new = {_key(record): record for record in wanted}
    changed = [
        Change(old[key], record)
        for key, record in new.items()
        if key in old and old[key].ttl != record.ttl
    ]
    added = [record for key, record in new.items() if key not in old]
    removed = [record for key, record in old.items() if key not in new]
    pairs = _single_pairs(current, wanted, added, removed, merge=merge)
    changed.extend(pairs)
    paired = {record for pair in pairs for record in (pair.before, pair.after)}
    return Diff(
        added=tuple(record for record in added if record not in paired),
        changed=tuple(changed),
        removed=()
        if merge
        else tuple(record for record in removed if record not in paired),
        unchanged=sum(key in old and old[key].ttl == new[key].ttl for key in new),
    )


def merge_conflicts(current: Iterable[Record], diff: Diff) -> list[str]:
    """Names at which a CNAME would not be alone after a merge."""
    replaced = {change.before for change in diff.changed}
    result = [record for record in current if record not in replaced]
    result += [change.after for change in diff.changed]
    result += diff.added
    types: defaultdict[str, list[str]] = defaultdict(list)
    for record in result:
        types[record.name].append(record.type)
    return sorted(
        name for name, here in types.items() if "CNAME" in here and len(here) > 1
    )


def _single_pairs(
    current: Sequence[Record],
    wanted: Sequence[Record],
    added: list[Record],
    removed: list[Record],
    *,
    merge: bool,
) -> list[Change]:
    """Added and removed records that are one record with new content."""
    before = Counter((record.name, record.type) for record in current)
    after = Counter((record.name, record.type) for record in wanted)
    gone = {(record.name, record.type): record for record in removed}
    return [
        Change(gone[place], record)
        for record in added
        if (place := (record.name, record.type)) in gone
        and before[place] == after[place] == 1
        and (record.type == "CNAME" or not merge)
    ]


def _key(record: Record) -> tuple[str, str, str]:
    return (record.name, record.type, record.content)
