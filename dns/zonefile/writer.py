"""Zone files as text: canonical, or made of rows of a spreadsheet."""

import csv
from collections.abc import Iterable, Iterator, Sequence
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
    """The zone as text, with SOA and NS for `authority`: equal bytes for equal records.

    Names are relative to one `$ORIGIN`, in the canonical order of RFC 4034, Section 6.1;
    every record carries its TTL and class; fields are separated by one tab. `domain` and
    the records are in canonical form. Records that `unwritable` lists stand in comments,
    where no reader takes them.
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


DEFAULT_TTL: Final = "300"
_LEAST: Final = 3
"""Cells of a row: fewer make no record."""
_CONTENT: Final = ("content", "value", "address", "data", "target")


def as_zone_lines(text: str) -> str:
    """Return the text with its table rows as lines of a zone file.

    A row has name, type, content and, wherever it stands, a TTL; a head row that says
    `name` and `type` tells another order. Cells are parted by commas or tabs. What is no
    such row stays; line n stays line n.
    """
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    head: list[str] = []
    default = DEFAULT_TTL
    for line in text.splitlines():
        cells = _cells(line)
        words = line.split()
        # The reader takes it for all rows below; a TTL of ours would hide it.
        if words[:1] and words[0].upper() == "$TTL":
            default = ""
        lower = [cell.lower() for cell in cells]
        if {"name", "type"} <= set(lower):
            head = ["content" if cell in _CONTENT else cell for cell in lower]
            yield f"; {line}"
        elif cells:
            yield _record(_named(cells, head), default)
        else:
            yield line


def _cells(line: str) -> list[str]:
    """Return the cells of a table row, nothing for another line."""
    if line.startswith((";", "$", "(")) or not line.strip():
        return []
    parting = "," if "," in line else "\t"
    try:
        [found] = csv.reader([line], delimiter=parting, skipinitialspace=True)
    except csv.Error:
        return []  # a cell is longer than csv reads: the reader of zone files says so
    cells = [cell.strip() for cell in found]
    # A name has no blank: this is a record whose data has commas, such as a TXT.
    table = len(cells) >= _LEAST and " " not in cells[0]
    # Zone files, those written here too, may be parted by tabs: the class gives them away.
    in_order = parting == "," or not {"IN", "in"} & set(cells[1:])
    return cells if table and in_order else []


def _named(cells: Sequence[str], head: Sequence[str]) -> dict[str, str]:
    """Return the cells by what they are."""
    if head:
        return dict(zip(head, cells, strict=False))
    name = cells[0]
    rest = [cell for cell in cells[1:] if cell.upper() != "IN"]
    if rest[:1] and rest[0][:1].isdigit():
        ttl, *rest = rest
        rest = [*rest[:2], ttl, *rest[2:]]
    kind, content, ttl, *more = [*rest, "", "", ""]
    return {
        "name": name,
        "type": kind,
        "content": " ".join([content, *filter(None, more)]),
        "ttl": ttl,
    }


def _record(row: dict[str, str], default: str) -> str:
    cells = (row.get("name") or "@", row.get("ttl") or default)
    return " ".join(filter(None, [*cells, row.get("type"), row.get("content")]))
