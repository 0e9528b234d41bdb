"""Finds the zone that people name on the command line."""

from contextlib import suppress

from django.db.models import Q

from dns.content import stored_form
from dns.models import Zone
from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.core.names import InvalidNameError, canonical
from meshmgmt.inventory.selectors import only_one


def find_zone(reference: str) -> Zone:
    """Return the zone with this id, domain or name. Raises CommandError."""
    chosen = Q(pk=reference) | Q(name=reference)
    with suppress(InvalidNameError):  # what is no domain may still be a name
        chosen |= Q(canonical_domain=stored_form(canonical(reference)))
    with clear_errors():
        return only_one(Zone.objects.filter(chosen), "zone", reference)
