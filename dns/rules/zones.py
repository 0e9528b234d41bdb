"""Rules of custom zones and their records (seed, "DNS zone" and "DNS record")."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dns.content import RECORD_TYPES, InvalidContentError, canonical_content
from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import (
    InvalidNameError,
    canonical,
    is_subdomain,
    parse_name,
    quoted,
)
from meshmgmt.core.textrules import unknown_id_errors

MAX_NAME = 255
MAX_TTL = 2**31 - 1  # RFC 2181, Section 8
APEX: Final = "@"


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
        *_zone_name_errors(zone["name"]),
        *_domain_errors(zone["domain"], peer_domain, stored_domain, taken=domain_taken),
        *unknown_id_errors(
            "distribution_groups",
            zone["distribution_groups"],
            known_groups,
            kind="group",
        ),
    ]


def _zone_name_errors(name: str) -> Iterator[FieldError]:
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


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record with its name and content in canonical form."""

    name: str
    type: str
    content: str

    @classmethod
    def of(cls, name: str, record_type: str, content: str) -> "StoredRecord":
        """Canonical form of a record that broke no rule of `record_errors`."""
        return cls(
            name=canonical(name),
            type=record_type,
            content=canonical_content(record_type, content),
        )


def record_errors(record: Mapping[str, Any], *, zone_domain: str) -> list[FieldError]:
    """Every broken rule that concerns the record alone, in deciding order."""
    return [
        *_record_name_errors(record["name"], canonical(zone_domain), record["type"]),
        *_content_errors(record["type"], record["content"]),
        *_ttl_errors(record["ttl"]),
    ]


def record_conflicts(
    candidate: StoredRecord, others: Iterable[StoredRecord]
) -> list[FieldError]:
    """Clashes with the other records of the zone; at most one error.

    `others` must hold at least the records of the candidate's name, without the
    record that is being changed.
    """
    same_name = [other for other in others if other.name == candidate.name]
    # First: a CNAME that is there already is repeated, and has no company.
    if candidate in same_name:
        message = (
            f"The record {quoted(candidate.name)} {candidate.type} "
            f"{candidate.content} already exists"
        )
        return [FieldError("content", message, conflict=True)]
    if same_name and candidate.type == "CNAME":
        message = (
            f"A CNAME must be alone at its name; {quoted(candidate.name)} "
            f"already has a record of type {same_name[0].type}"
        )
        return [FieldError("name", message, conflict=True)]
    if any(other.type == "CNAME" for other in same_name):
        message = f"{quoted(candidate.name)} already has a CNAME, which must be alone"
        return [FieldError("name", message, conflict=True)]
    return []


def _record_name_errors(
    text: str, zone_domain: str, record_type: str
) -> Iterator[FieldError]:
    try:
        name = canonical(text)
    except InvalidNameError as error:
        yield FieldError("name", f"Record name {quoted(text)} is not valid: {error}")
        return
    if not is_subdomain(name, zone_domain):
        yield FieldError(
            "name",
            f"Record name {quoted(text)} is not inside the zone {quoted(zone_domain)}",
        )
    # An apex has SOA and NS records, beside which no CNAME stands: RFC 1034, 3.6.2.
    elif name == zone_domain and record_type == "CNAME":
        yield FieldError("type", "A CNAME cannot stand at the apex of its zone")


def _content_errors(record_type: str, content: str) -> Iterator[FieldError]:
    if record_type not in RECORD_TYPES:
        yield FieldError("type", "The record type must be A, AAAA or CNAME")
        return
    try:
        canonical_content(record_type, content)
    except InvalidContentError as error:
        yield FieldError("content", f"Record content {quoted(content)}: {error}")


def _ttl_errors(ttl: int) -> Iterator[FieldError]:
    if not 0 <= ttl <= MAX_TTL:
        yield FieldError("ttl", f"The ttl must lie between 0 and {MAX_TTL} seconds")


def name_in_zone(text: str, domain: str) -> str:
    """Return the whole name that `text` stands for on the pages of the zone `domain`.

    As in zone files (RFC 1035, Section 5.1):
    `@` is the domain, a name that ends in a dot is whole, and so is one at or below the
    domain; any other is relative to the domain. What is no name either way is returned
    as it is, for the rules to refuse.
    """
    domain = domain.removesuffix(".")
    if text == APEX:
        return domain
    # After a final dot nothing can be added: `text..domain` is no name.
    for name in (text, f"{text}.{domain}"):
        if _lies_in(name, domain):
            return name
    return text


def _lies_in(name: str, domain: str) -> bool:
    try:
        return is_subdomain(canonical(name), canonical(domain))
    except InvalidNameError:
        return False
