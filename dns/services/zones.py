"""Writes of zones."""

from dataclasses import replace
from typing import Any, Final

from dns.content import stored_form
from dns.models import Zone, ZoneGroup
from dns.rules.zones import ZONE_COLUMNS, ZoneDraft, zone_errors
from dns.selectors.zones import ZONE_KIND
from events.audit.audited import audited_bulk_delete
from groups.selectors import known_groups
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.core import drafts
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write, in_pieces

RECORDS_AT_ONCE: Final = 500
"""Changes of records in one transaction: others wait for the lock meanwhile."""


def zone_create(*, draft: ZoneDraft) -> Zone:
    """Create a zone without records. Raises InvalidArgument or Conflict."""
    with account_write():
        check_zone(draft=draft)
        zone = Zone(canonical_domain=stored_form(canonical(draft.domain)))
        drafts.fill(zone, draft, ZONE_COLUMNS)
        zone.save(force_insert=True)
        set_members(ZoneGroup, zone, draft.distribution_groups, new=True)
        return zone


def zone_update(*, zone_id: str, **changes: Any) -> Zone:
    """Change the fields of the draft that are given, keep the rest.

    The domain may come in another spelling of the stored one, which is then kept. Raises
    NotFound or InvalidArgument.
    """
    with account_write():
        zone = zone_get(zone_id)
        groups = member_keys(ZoneGroup, zone)
        columns = drafts.values(zone, ZONE_COLUMNS)
        draft = replace(ZoneDraft(distribution_groups=groups, **columns), **changes)
        check_zone(draft=draft, zone=zone)
        drafts.fill(zone, draft, ZONE_COLUMNS)
        zone.save()
        set_members(ZoneGroup, zone, draft.distribution_groups, before=groups)
        return zone


def zone_delete(*, zone_id: str) -> None:
    """Delete a zone and its records, each with its event. Raises NotFound.

    Of more than RECORDS_AT_ONCE records the oldest go first, in transactions of their own.
    """
    count = zone_get(zone_id).records.count()
    if count > RECORDS_AT_ONCE:
        with in_pieces(count):
            zone_thin_out(zone_id=zone_id)
    while not _deleted(zone_id):
        pass


def zone_thin_out(*, zone_id: str) -> None:
    """Delete records of a zone, in pieces, until few enough for one transaction are left.

    For callers that delete the zone inside of a transaction. Raises NotFound.
    """
    while zone_get(zone_id).records.all()[RECORDS_AT_ONCE:].exists():
        with account_write():
            _delete_piece(zone_get(zone_id))


def _deleted(zone_id: str) -> bool:
    """Delete the zone with what records it has; return False when that is too many yet."""
    with account_write():
        zone = zone_get(zone_id)
        if _delete_piece(zone):
            return False
        set_members(ZoneGroup, zone, [])
        zone.delete()
        return True


def _delete_piece(zone: Zone) -> bool:
    """Delete the oldest records of a zone; return whether it has more."""
    # Read through the zone, so that the events find its name without a query each.
    records = list(zone.records.all()[: RECORDS_AT_ONCE + 1])
    audited_bulk_delete(records[:RECORDS_AT_ONCE])
    return len(records) > RECORDS_AT_ONCE


def check_zone(*, draft: ZoneDraft, zone: Zone | None = None) -> None:
    """Raise what the rules find; `zone` is the zone that is being changed."""
    raise_field_errors(
        zone_errors(
            draft,
            known_groups=known_groups(draft.distribution_groups),
            peer_domain=account_domain(),
            used_domains=_namesakes(draft.domain),
            stored_domain=None if zone is None else zone.domain,
        )
    )


def zone_get(zone_id: str) -> Zone:
    """Return a zone. Raises NotFound."""
    return found(Zone, zone_id, kind=ZONE_KIND)


def domain_free_errors(domain: str) -> list[FieldError]:
    """Object to a DNS domain (canonical form) of the peers that a zone has."""
    if not Zone.objects.filter(canonical_domain=stored_form(domain)).exists():
        return []
    text = f"the DNS domain {domain!r} is the domain of a zone"
    return [FieldError("dns_domain", text)]


def _namesakes(domain: str) -> set[str]:
    """The domain in canonical form if a zone has it, else nothing."""
    try:
        name = canonical(domain)
    except InvalidNameError:
        return set()  # the rules report it
    taken = Zone.objects.filter(canonical_domain=stored_form(name)).exists()
    return {name} if taken else set()
