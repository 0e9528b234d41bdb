"""Rules of custom zones and of the DNS settings (seed, "DNS zone")."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, parse_name, quoted
from meshmgmt.core.textrules import unknown_id_errors

MAX_NAME = 255


def zone_errors(
    zone: Mapping[str, Any],
    *,
    known_groups: Container[str],
    peer_domain: str,
    used_domains: Container[str],
    stored_domain: str | None = None,
) -> list[FieldError]:
    """Every broken rule, first the one that decides the message.

    `peer_domain` is the domain of the peers' own names, in any spelling.
    `used_domains` holds the canonical domains of the other zones. On update
    `stored_domain` is the zone's domain, which cannot change.
    """
    return [
        *_name_errors(zone["name"]),
        *_domain_errors(zone["domain"], peer_domain, used_domains, stored_domain),
        *unknown_id_errors(
            "distribution_groups",
            zone["distribution_groups"],
            known_groups,
            kind="group",
        ),
    ]


def dns_settings_errors(
    disabled_management_groups: Sequence[str], *, known_groups: Container[str]
) -> list[FieldError]:
    return list(
        unknown_id_errors(
            "disabled_management_groups",
            disabled_management_groups,
            known_groups,
            kind="group",
        )
    )


def _name_errors(name: str) -> Iterator[FieldError]:
    if not 1 <= len(name) <= MAX_NAME:
        yield FieldError("name", f"The zone name must have 1 to {MAX_NAME} characters")


def _domain_errors(
    text: str, peer_domain: str, used: Container[str], stored: str | None
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
    elif domain in used:
        yield FieldError(
            "domain",
            f"A zone for the domain {quoted(text)} already exists",
            conflict=True,
        )
