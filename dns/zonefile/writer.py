"""Canonical zone files: equal records give equal bytes, whatever their order.

Names are relative to one `$ORIGIN`, in the canonical order of RFC 4034, Section
6.1; every record carries its TTL and class; fields are separated by one tab.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from meshmgmt.core.names import MAX_OCTETS, MAX_TEXT
from meshmgmt.mesh.snapshot import Record

_AUTHORITY: Final = (
    "@\t3600\tIN\tSOA\tlocalhost. hostmaster.localhost. 1 10800 3600 604800 300",
    "@\t3600\tIN\tNS\tlocalhost.",
)
"""SOA and NS that authoritative servers want in a zone file."""


def write_zone(
    domain: str, records: Iterable[Record], *, authority: bool = False
) -> str:
    """The zone as text, with SOA and NS for `authority`.

    `domain` and the records are in canonical form. Records that `unwritable` lists stand
    in comments, where no reader takes them.
    """
    lines = [f"$ORIGIN {domain}.", *(_AUTHORITY if authority else ())]
    for record in sorted(records, key=_order):
        if _fits(record, authority=authority):
            lines.append(_line(record, domain))
        else:
            what = f"{record.name} {record.type} {record.content}"
            lines.append(f"; left out, for a name is too long: {what}")
    return "\n".join(lines) + "\n"


def unwritable(records: Iterable[Record], *, authority: bool = False) -> list[Record]:
    """Records whose names are too long for the file.

    They match nothing in DNS either. An authoritative server refuses more than
    253 octets; our own reader takes what clients may send, 255 characters.
    """
    return [record for record in records if not _fits(record, authority=authority)]


def _fits(record: Record, *, authority: bool) -> bool:
    names = (record.name, record.content if record.type == "CNAME" else "")
    return max(map(len, names)) <= (MAX_OCTETS if authority else MAX_TEXT)


def _line(record: Record, domain: str) -> str:
    owner = "@" if record.name == domain else record.name.removesuffix(f".{domain}")
    content = f"{record.content}." if record.type == "CNAME" else record.content
    return f"{owner}\t{record.ttl}\tIN\t{record.type}\t{content}"


def _order(record: Record) -> tuple[list[str], str, int, str]:
    is_address = record.type != "CNAME"
    return (
        record.name.split(".")[::-1],
        record.type,
        int(ip_address(record.content)) if is_address else 0,
        record.content,
    )
