"""What a zone file would change: added, changed and removed records."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dns.zonefile.reader import ZoneFile
from dns.zonefile.writer import Authority, unwritable
from meshmgmt.mesh.snapshot import Record

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """A record that stays the same object with another TTL or content."""

    before: Record
    after: Record


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between a zone and a file, each list in its own order."""

    added: tuple[Record, ...]
    changed: tuple[Change, ...]
    removed: tuple[Record, ...]
    unchanged: int

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
    # Files for name servers hold shorter names, and have SOA and NS.
    authority = Authority() if file.ignored else None
    names = {record.name for record in file.records}
    untold = {
        _key(record)
        for record in unwritable(current, authority=authority)
        if record.name not in names
    }
    return [record for record in current if _key(record) not in untold]


def compare(
    current: Sequence[Record], wanted: Sequence[Record], *, merge: bool = False
) -> Diff:
    """How `current` becomes `wanted`; with `merge` nothing is removed.

    A record is changed when only its TTL differs, and also when it is the one
    record of its name and type on both sides (for a merge: when it is a CNAME,
    of which a name can have only one).
    """
    old, new = _by_key(current), _by_key(wanted)
    changed = [
        Change(old[key], record)
        for key, record in new.items()
        if key in old and old[key].ttl != record.ttl
    ]
    added = [record for key, record in new.items() if key not in old]
    removed = [record for key, record in old.items() if key not in new]
    pairs = _single_pairs(current, wanted, added, removed, merge=merge)
    changed.extend(pairs)
    moved_in = {_key(change.after) for change in pairs}
    moved_out = {_key(change.before) for change in pairs}
    return Diff(
        added=tuple(record for record in added if _key(record) not in moved_in),
        changed=tuple(changed),
        removed=()
        if merge
        else tuple(record for record in removed if _key(record) not in moved_out),
        unchanged=sum(key in old and old[key].ttl == new[key].ttl for key in new),
    )


def merge_conflicts(current: Iterable[Record], diff: Diff) -> list[str]:
    """Names at which a CNAME would not be alone after a merge."""
    replaced = {_key(change.before) for change in diff.changed}
    result = [record for record in current if _key(record) not in replaced]
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
    sizes: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for side, records in enumerate((current, wanted)):
        for record in records:
            sizes[record.name, record.type][side] += 1
    gone = {(record.name, record.type): record for record in removed}
    return [
        Change(gone[record.name, record.type], record)
        for record in added
        if (record.name, record.type) in gone
        and sizes[record.name, record.type] == [1, 1]
        and (record.type == "CNAME" or not merge)
    ]


def _by_key(records: Iterable[Record]) -> dict[_Key, Record]:
    return {_key(record): record for record in records}


def _key(record: Record) -> _Key:
    return (record.name, record.type, record.content)
