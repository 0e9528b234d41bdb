"""Canonical zone files: equal records give equal bytes, whatever their order.

Names are relative to one `$ORIGIN`, in the canonical order of RFC 4034, Section
6.1; every record carries its TTL and class; fields are separated by one tab.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from meshmgmt.core.names import MAX_OCTETS, MAX_TEXT
from meshmgmt.mesh.snapshot import Record

_TYPE_ORDER = {"A": 0, "AAAA": 1, "CNAME": 2}


@dataclass(frozen=True, slots=True)
class Authority:
    """SOA and NS that authoritative servers want in a zone file.

    `nameserver` and `contact` are host names without trailing dot (the contact in
    the form of RFC 1035, with the `@` as a dot); times in seconds.
    """

    nameserver: str = "localhost"
    contact: str = "hostmaster.localhost"
    serial: int = 1
    ttl: int = 3600
    refresh: int = 10800
    retry: int = 3600
    expire: int = 604800
    minimum: int = 300


def write_zone(
    domain: str, records: Iterable[Record], *, authority: Authority | None = None
) -> str:
    """The zone as text. `domain` and the records are in canonical form.

    Records that `unwritable` lists stand in comments, where no reader takes them.
    """
    lines = [f"$ORIGIN {domain}."]
    if authority is not None:
        lines.extend(_authority_lines(authority))
    limit = _limit(authority)
    for record in sorted(records, key=_order):
        if _longest(record) <= limit:
            lines.append(_line(record, domain))
        else:
            what = f"{record.name} {record.type} {record.content}"
            lines.append(f"; left out, for a name is too long: {what}")
    return "\n".join(lines) + "\n"


def unwritable(
    records: Iterable[Record], *, authority: Authority | None = None
) -> list[Record]:
    """Records whose names are too long for the file.

    They match nothing in DNS either. An authoritative server refuses more than
    253 octets; our own reader takes what clients may send, 255 characters.
    """
    limit = _limit(authority)
    return [record for record in records if _longest(record) > limit]


def _limit(authority: Authority | None) -> int:
    return MAX_TEXT if authority is None else MAX_OCTETS


def _longest(record: Record) -> int:
    return max(len(record.name), len(record.content) if record.type == "CNAME" else 0)


def _authority_lines(authority: Authority) -> Iterable[str]:
    start = f"@\t{authority.ttl}\tIN"
    yield (
        f"{start}\tSOA\t{authority.nameserver}. {authority.contact}. "
        f"{authority.serial} {authority.refresh} {authority.retry} "
        f"{authority.expire} {authority.minimum}"
    )
    yield f"{start}\tNS\t{authority.nameserver}."


def _line(record: Record, domain: str) -> str:
    owner = "@" if record.name == domain else record.name.removesuffix(f".{domain}")
    content = f"{record.content}." if record.type == "CNAME" else record.content
    return f"{owner}\t{record.ttl}\tIN\t{record.type}\t{content}"


def _order(record: Record) -> tuple[list[str], int, int, str]:
    is_address = record.type != "CNAME"
    return (
        record.name.split(".")[::-1],
        _TYPE_ORDER[record.type],
        int(ip_address(record.content)) if is_address else 0,
        record.content,
    )
