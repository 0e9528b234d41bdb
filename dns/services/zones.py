"""Writes of zones and their records."""

from collections.abc import Sequence
from typing import Final

from dns.content import stored_form
from dns.models import Record, Zone
from dns.rules.zones import StoredRecord, record_conflicts, record_errors, zone_errors
from events.audit.audited import audited_bulk_delete
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical
from meshmgmt.core.queries import Prepared
from meshmgmt.core.resources import Resource, Write
from meshmgmt.core.transactions import account_write, in_pieces

RECORDS_AT_ONCE: Final = 500
"""Changes of records in one transaction: others wait for the lock meanwhile."""


class Zones(Resource[Zone]):
    """Zones, without their records.

    The domain of a stored one may come in another spelling, which is then kept.
    """

    model = Zone
    kind = "zone"

    def errors(self, write: Write[Zone]) -> list[FieldError]:
        # The domain of a stored one cannot change: nobody asks whose it is.
        new = write.is_new
        return zone_errors(
            write.values,
            known_groups=write.known("distribution_groups"),
            peer_domain=account_domain() if new else "",
            domain_taken=new and _is_taken(write.values["domain"]),
            stored_domain=write.before.get("domain"),
        )

    def complete(self, instance: Zone) -> None:
        instance.canonical_domain = stored_form(canonical(instance.domain))

    def delete(self, identifier: str, within: str = "") -> None:
        """Delete a zone and its records, each with its event. Raises NotFound.

        Of more than RECORDS_AT_ONCE records the oldest go first, in transactions of
        their own.
        """
        count = self.get(identifier).records.count()
        if count > RECORDS_AT_ONCE:
            with in_pieces(count):
                zone_thin_out(zone_id=identifier)
        # Between two pieces somebody may have added more than fit into the last one.
        while not _deleted(identifier):
            pass


zones: Final = Zones()


def zone_thin_out(*, zone_id: str) -> None:
    """Delete records of a zone, in pieces, until few enough for one transaction are left.

    For callers that delete the zone inside of a transaction. Raises NotFound.
    """
    while zones.get(zone_id).records.all()[RECORDS_AT_ONCE:].exists():
        with account_write():
            _delete_piece(zones.get(zone_id))


def _deleted(zone_id: str) -> bool:
    """Delete the zone with what records it has; return False when that is too many yet."""
    with account_write():
        zone = zones.get(zone_id)
        if _delete_piece(zone):
            return False
        zone.delete()
        return True


def _delete_piece(zone: Zone) -> bool:
    """Delete the oldest records of a zone; return whether it has more."""
    # Read through the zone, so that the events find its name without a query each.
    records = list(zone.records.all()[: RECORDS_AT_ONCE + 1])
    audited_bulk_delete(records[:RECORDS_AT_ONCE])
    return len(records) > RECORDS_AT_ONCE


def domain_free_errors(domain: str) -> list[FieldError]:
    """Object to a DNS domain (canonical form) of the peers that a zone has."""
    if not _is_taken(domain):
        return []
    # No conflict, though a zone's domain that is taken is one: the reference answers 422.
    text = f"the DNS domain {domain!r} is the domain of a zone"
    return [FieldError("dns_domain", text)]


def _is_taken(domain: str) -> bool:
    """Whether a zone has this domain, in whatever spelling."""
    try:
        form = stored_form(canonical(domain))
    except InvalidNameError:
        return False  # the rules report it
    return Zone.objects.filter(canonical_domain=form).exists()


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
