"""Rules of the records of a zone (seed, "DNS record"; RFC 1034, Section 3.6.2)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dns.content import RECORD_TYPES, InvalidContentError, canonical_content
from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, is_subdomain, quoted

MAX_TTL = 2**31 - 1  # RFC 2181, Section 8


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
        *_name_errors(record["name"], canonical(zone_domain), record["type"]),
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


def _name_errors(text: str, zone_domain: str, record_type: str) -> Iterator[FieldError]:
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
