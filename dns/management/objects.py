"""Finds the objects that people name on the command line."""

from contextlib import suppress
from typing import TypeVar

from django.core.management.base import CommandError
from django.db.models import Q

from dns.content import stored_form
from dns.models import Zone
from meshmgmt.core.names import InvalidNameError, canonical, quoted
from meshmgmt.inventory.models import Peer

ObjectT = TypeVar("ObjectT", Peer, Zone)
_SHOWN = 3


def find_peer(reference: str) -> Peer:
    """Return the peer with this id, name, DNS label or address. Raises CommandError."""
    found = Peer.objects.filter(
        Q(pk=reference)
        | Q(name=reference)
        | Q(dns_label=reference)
        | Q(ip=reference)
        | Q(ipv6=reference)
    )
    return _only(list(found[: _SHOWN + 1]), "peer", reference)


def find_zone(reference: str) -> Zone:
    """Return the zone with this id, domain or name. Raises CommandError."""
    chosen = Q(pk=reference) | Q(name=reference)
    with suppress(InvalidNameError):  # what is no domain may still be a name
        chosen |= Q(canonical_domain=stored_form(canonical(reference)))
    return _only(list(Zone.objects.filter(chosen)[: _SHOWN + 1]), "zone", reference)


def _only(found: list[ObjectT], kind: str, reference: str) -> ObjectT:
    if not found:
        raise CommandError(f"no {kind} is known as {quoted(reference)}")
    if len(found) > 1:
        ids = ", ".join(str(each.pk) for each in found[:_SHOWN])
        raise CommandError(
            f"several {kind}s are known as {quoted(reference)}; give an id: {ids}"
        )
    return found[0]
