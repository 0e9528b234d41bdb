"""Writes of the records of a zone."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dns.content import stored_form
from dns.models import Record, Zone
from dns.rules.records import (
    RECORD_COLUMNS,
    RecordDraft,
    StoredRecord,
    record_conflicts,
    record_errors,
)
from dns.selectors.zones import RECORD_KIND
from dns.services.zones import RECORDS_AT_ONCE, zone_get
from events.audit.audited import audited_bulk_delete
from meshmgmt.core import drafts
from meshmgmt.core.errors import NotFound, raise_field_errors
from meshmgmt.core.transactions import account_write


def record_create(*, zone_id: str, draft: RecordDraft) -> Record:
    """Add a record to a zone. Raises NotFound, InvalidArgument or Conflict."""
    with account_write():
        zone = zone_get(zone_id)
        record = Record(zone=zone)
        _assign(record, draft)
        record.save(force_insert=True)
        return record


def record_update(*, zone_id: str, record_id: str, **changes: Any) -> Record:
    """Change the fields of the draft that are given, keep the rest.

    Raises as `record_create`.
    """
    with account_write():
        record = _get(zone_id, record_id)
        _assign(record, replace(draft_of(record), **changes))
        record.save()
        return record


def record_delete(*, zone_id: str, record_id: str) -> None:
    """Delete a record. Raises NotFound."""
    with account_write():
        _get(zone_id, record_id).delete()


def records_delete(*, record_ids: Sequence[str]) -> None:
    """Delete records of any zones, in pieces; those that are gone are passed over."""
    for start in range(0, len(record_ids), RECORDS_AT_ONCE):
        piece = record_ids[start : start + RECORDS_AT_ONCE]
        with account_write():
            stored = Record.objects.select_related("zone").filter(pk__in=piece)
            audited_bulk_delete(list(stored))


def draft_of(record: Record) -> RecordDraft:
    """Return a stored record as a client would send it."""
    return RecordDraft(**drafts.values(record, RECORD_COLUMNS))


def check_record(*, zone: Zone, draft: RecordDraft, record: Record) -> None:
    """Raise what the rules find; `record` is the one that is made or changed."""
    raise_field_errors(record_errors(draft, zone_domain=zone.domain))
    stored = StoredRecord.of(draft)
    place = (stored_form(stored.name), stored.type, stored_form(stored.content))
    if place == (record.canonical_name, record.type, record.canonical_content):
        return  # beside the same others as before
    beside = zone.records.filter(canonical_name=place[0]).exclude(pk=record.pk)
    others = [
        # The name is known to be equal; a digest must not take its place.
        StoredRecord(stored.name, type_, content)
        for type_, content in beside.values_list("type", "canonical_content")
    ]
    candidate = StoredRecord(stored.name, stored.type, place[2])
    raise_field_errors(record_conflicts(candidate, others))


def fill_record(record: Record, draft: RecordDraft) -> None:
    """Set the columns of a record from a draft that passed the rules."""
    stored = StoredRecord.of(draft)
    drafts.fill(record, draft, RECORD_COLUMNS)
    record.canonical_name = stored_form(stored.name)
    record.canonical_content = stored_form(stored.content)


def _assign(record: Record, draft: RecordDraft) -> None:
    check_record(zone=record.zone, draft=draft, record=record)
    fill_record(record, draft)


def _get(zone_id: str, record_id: str) -> Record:
    """Return a record with its zone, in one query as long as it is there."""
    records = Record.objects.select_related("zone")
    record = records.filter(pk=record_id, zone=zone_id).first()
    if record is None:
        zone_get(zone_id)
        raise NotFound.of(RECORD_KIND, record_id)
    return record
