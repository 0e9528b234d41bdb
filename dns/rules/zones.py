"""Rules of custom zones (seed, "DNS zone")."""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, parse_name, quoted
from meshmgmt.core.textrules import unknown_id_errors

MAX_NAME = 255


def zone_errors(
    zone: Mapping[str, Any],
    *,
    known_groups: Container[str],
    peer_domain: str,
    domain_taken: bool,
    stored_domain: str | None,
) -> list[FieldError]:
    """Every broken rule, first the one that decides the message.

    `peer_domain` is the domain of the peers' own names, in any spelling;
    `domain_taken` says that another zone has this one. On update `stored_domain` is
    the zone's domain, which cannot change.
    """
    return [
        *_name_errors(zone["name"]),
        *_domain_errors(zone["domain"], peer_domain, stored_domain, taken=domain_taken),
        *unknown_id_errors(
            "distribution_groups",
            zone["distribution_groups"],
            known_groups,
            kind="group",
        ),
    ]


def _name_errors(name: str) -> Iterator[FieldError]:
    if not 1 <= len(name) <= MAX_NAME:
        yield FieldError("name", f"The zone name must have 1 to {MAX_NAME} characters")


def _domain_errors(
    text: str, peer_domain: str, stored: str | None, *, taken: bool
) -> Iterator[FieldError]:
    try:
        domain = parse_name(text)
    except InvalidNameError as error:
        yield FieldError("domain", f"Zone domain {quoted(text)} is not valid: {error}")
        return
    if stored is not None:
        if domain != canonical(stored):
            yield FieldError("domain", "The domain of a zone cannot be changed")
        return
    # The same domain alone is refused: of zones above and below it lint warns.
    if peer_domain and domain == canonical(peer_domain):
        yield FieldError(
            "domain",
            f"Zone domain {quoted(text)} is the domain of the peers' own names",
        )
    elif taken:
        yield FieldError(
            "domain",
            f"A zone for the domain {quoted(text)} already exists",
            conflict=True,
        )
