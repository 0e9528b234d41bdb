"""Zone files: a zone's records as text, and records taken from text."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from dns.content import stored_form
from dns.models import Record, Zone
from dns.selectors import plain_record
from dns.services.zones import RECORDS_AT_ONCE, zones
from dns.services.zones import records as stored_records
from dns.zonefile.changes import Diff, compare, merge_conflicts, told
from dns.zonefile.lexer import ZoneFileError
from dns.zonefile.reader import ZoneFile, read_zone
from dns.zonefile.writer import unwritable, write_zone
from events.audit.audited import audited_bulk_create, audited_bulk_delete
from meshmgmt.core.errors import Conflict, FieldError, InvalidArgument
from meshmgmt.core.names import canonical, quoted
from meshmgmt.core.queries import batches
from meshmgmt.core.transactions import account_write, in_pieces, read_snapshot
from meshmgmt.mesh.snapshot import Record as PlainRecord


class ZoneChanged(Conflict):
    """The zone is not any more as it was when somebody looked at the changes."""


@dataclass(frozen=True, slots=True)
class Export:
    """A zone as text; `left_out` holds records whose names no file can hold."""

    domain: str
    text: str
    left_out: Sequence[PlainRecord]


@dataclass(frozen=True, slots=True)
class Import:
    """What a zone file holds and what it changes in the zone; `preview`: would change."""

    file: ZoneFile
    diff: Diff
    preview: bool = False


def zone_export(*, zone_id: str, authority: bool = False) -> Export:
    """Return a zone as a zone file, with SOA and NS for `authority`. Raises NotFound."""
    with read_snapshot():
        zone = zones.get(zone_id)
        records = [plain_record(record) for record in zone.records.order_by("id")]
    domain = canonical(zone.domain)
    return Export(
        domain=domain,
        text=write_zone(domain, records, authority=authority),
        left_out=unwritable(records, authority=authority),
    )


def zone_import(
    *,
    zone_id: str,
    text: str,
    merge: bool = False,
    strict: bool = False,
    expected: str = "",
) -> Import:
    """Make the records of a zone those of a zone file; with `merge` remove none.

    One event per record, and one transaction for up to RECORDS_AT_ONCE changes; more go in
    pieces, between which others write. Raises NotFound, InvalidArgument with line and
    column of each fault, Conflict when a merge would put a record beside a CNAME, and
    ZoneChanged when `expected` is not the fingerprint of what would be changed now.
    """
    # Compared without the lock, for a file may be large; each piece compares anew.
    planned = zone_import_preview(
        zone_id=zone_id, text=text, merge=merge, strict=strict
    )
    if expected not in ("", planned.diff.fingerprint):
        raise ZoneChanged("The zone changed meanwhile: nothing was written")
    wanted: defaultdict[str, list[PlainRecord]] = defaultdict(list)
    for record in planned.file.records:
        wanted[record.name].append(record)
    done = Diff()
    count = len(planned.diff)
    with in_pieces(count) if count > RECORDS_AT_ONCE else nullcontext():
        for names in _pieces(planned.diff):
            part = [record for name in names for record in wanted[name]]
            done += _write_piece(zone_id, names, part, merge=merge)
    # Pieces hold the names that change, and do not know of the others.
    kept = len(planned.file.records) - len(done.added) - len(done.changed)
    return Import(planned.file, replace(done, unchanged=kept))


def zone_import_preview(
    *, zone_id: str, text: str, merge: bool = False, strict: bool = False
) -> Import:
    """Return what `zone_import` would do. Raises what it would raise."""
    with read_snapshot():
        zone = zones.get(zone_id)
        file = _read(zone, text, strict=strict)
        stored = [plain_record(record) for record in zone.records.all()]
        diff = _difference(told(stored, file), file.records, merge=merge)
        return Import(file, diff, preview=True)


def _pieces(diff: Diff) -> Iterator[Sequence[str]]:
    """Yield the names that change, in parts of few changes; a name's stay together."""
    names: list[str] = []
    changes = 0
    # Whether a CNAME is alone shows only where all records of its name are compared.
    for name, count in Counter(diff.names).items():
        if names and changes + count > RECORDS_AT_ONCE:
            yield names
            names, changes = [], 0
        names.append(name)
        changes += count
    if names:
        yield names


def _write_piece(
    zone_id: str, names: Sequence[str], wanted: Sequence[PlainRecord], *, merge: bool
) -> Diff:
    """Make the records of the names those that are wanted; return what that took.

    What differs is found out anew under the lock. A name with too many changes for one
    transaction is written in several.
    """
    done = Diff()
    while True:
        with account_write():
            # Anew for each piece: since the one before, somebody may have deleted it.
            zone = zones.get(zone_id)
            stored = _records_at(zone, names)
            plain = [plain_record(record) for record in stored]
            diff = _difference(plain, wanted, merge=merge)
            part = diff.first(RECORDS_AT_ONCE)
            _apply(zone, stored, part)
        done += part
        if len(part) == len(diff):
            return done


def _records_at(zone: Zone, names: Sequence[str]) -> list[Record]:
    return [
        record
        for part in batches([stored_form(name) for name in names])
        for record in zone.records.filter(canonical_name__in=part)
    ]


def _read(zone: Zone, text: str, *, strict: bool) -> ZoneFile:
    try:
        return read_zone(text, domain=canonical(zone.domain), strict=strict)
    except ZoneFileError as error:
        errors = [
            FieldError(f"line {fault.line}, column {fault.column}", str(fault))
            for fault in error.faults
        ]
        raise InvalidArgument(errors[0].message, errors) from error


def _difference(
    current: Sequence[PlainRecord], wanted: Sequence[PlainRecord], *, merge: bool
) -> Diff:
    diff = compare(current, wanted, merge=merge)
    if merge and (names := merge_conflicts(current, diff)):
        errors = [FieldError(name, _alone(name), conflict=True) for name in names]
        raise Conflict(errors[0].message, errors)
    return diff


def _alone(name: str) -> str:
    return f"A CNAME must be alone at its name, {quoted(name)} has another record"


def _apply(zone: Zone, stored: Sequence[Record], diff: Diff) -> None:
    """Write a difference: what goes first, so that no constraint is met halfway."""
    by_id = {record.pk: record for record in stored}
    audited_bulk_delete([by_id[record.id] for record in diff.removed])
    for change in diff.changed:
        record = by_id[change.before.id]
        values: dict[str, Any] = {"ttl": change.after.ttl}
        # A name, and content that means the same, keep their spelling.
        if change.after.content != change.before.content:
            values["content"] = change.after.content
        stored_records.fill(record, values)
        record.save()
    added = [Record(zone=zone) for _ in diff.added]
    for record, plain in zip(added, diff.added, strict=True):
        stored_records.fill(record, plain._asdict())
    audited_bulk_create(added)
