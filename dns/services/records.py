"""Writes of the records of a zone."""

from collections.abc import Sequence
from typing import Final

from dns.content import stored_form
from dns.models import Record
from dns.rules.records import StoredRecord, record_conflicts, record_errors
from dns.services.zones import RECORDS_AT_ONCE, zones
from events.audit.audited import audited_bulk_delete
from meshmgmt.core.errors import FieldError
from meshmgmt.core.queries import Prepared
from meshmgmt.core.resources import Resource, Write
from meshmgmt.core.transactions import account_write

_AT_NAME: Final = Prepared(
    lambda zone_id, name: Record.objects.filter(
        zone=zone_id, canonical_name=name
    ).values_list("pk", "type", "canonical_content")
)


class Records(Resource[Record]):
    """Records of zones."""

    model = Record
    kind = "record"
    whole = zones

    def errors(self, write: Write[Record]) -> list[FieldError]:
        zone = write.instance.zone
        broken = record_errors(write.values, zone_domain=zone.domain)
        return broken or self._conflicts(write)

    def complete(self, instance: Record) -> None:
        stored = StoredRecord.of(instance.name, instance.type, instance.content)
        instance.canonical_name = stored_form(stored.name)
        instance.canonical_content = stored_form(stored.content)

    def _conflicts(self, write: Write[Record]) -> list[FieldError]:
        """Return the clashes with records beside it, which are looked for where it goes."""
        record, values = write.instance, write.values
        stored = StoredRecord.of(values["name"], values["type"], values["content"])
        place = (stored_form(stored.name), stored.type, stored_form(stored.content))
        if place == (record.canonical_name, record.type, record.canonical_content):
            return []  # beside the same others as before
        others = [
            # The name is known to be equal; a digest must not take its place.
            StoredRecord(stored.name, type_, content)
            for pk, type_, content in _AT_NAME.rows(record.zone_id, place[0])
            if pk != record.pk
        ]
        return record_conflicts(StoredRecord(stored.name, *place[1:]), others)


records: Final = Records()


def records_delete(*, record_ids: Sequence[str]) -> None:
    """Delete records of any zones, in pieces; those that are gone are passed over."""
    for start in range(0, len(record_ids), RECORDS_AT_ONCE):
        piece = record_ids[start : start + RECORDS_AT_ONCE]
        with account_write():
            # Events name the zone: joined, or each record would ask for it.
            stored = Record.objects.select_related("zone").filter(pk__in=piece)
            audited_bulk_delete(list(stored))
