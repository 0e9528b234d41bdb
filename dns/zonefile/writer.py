"""Zone files as text: canonical, or made of rows of a spreadsheet."""

import csv
import re
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
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_TABBED: Final = re.compile(
    r"[^\s;]\S*\t(?:A|AAAA|CNAME)\t[^\s;]\S*(?:\t\d+)?\s*", re.IGNORECASE
)
"""A row of tabs without a head: others may be of a zone file, which has tabs, too."""
_SYNTAX: Final = re.compile(r'[;()"]')


def as_zone_lines(text: str) -> str:
    """Return the text with its table rows as lines of a zone file.

    A row has name, type, content and, wherever it stands, a TTL; a head row that says
    `name` and `type` tells another order. Cells are parted by commas; by tabs, where a
    head row is, or there are nothing but rows. What is no such row stays; line n stays
    line n.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    return "\n".join(_lines(lines, _parting(lines)))


def _parting(lines: Sequence[str]) -> str:
    """Return what parts the cells of the rows."""
    said = [line for line in lines if line.strip() and line[0] not in ";$"]
    tabbed = all(map(_TABBED.fullmatch, said)) or any(
        _is_head(line.split("\t")) for line in said
    )
    return "\t" if tabbed else ","


def _is_head(cells: Sequence[str]) -> bool:
    return {"name", "type"} <= {cell.strip().lower() for cell in cells}


def _lines(lines: Sequence[str], parting: str) -> Iterator[str]:
    head: list[str] = []
    default = DEFAULT_TTL
    for line in lines:
        cells = _cells(line, parting)
        if not cells:
            # The reader takes it for all rows below; a TTL of ours would hide it.
            if line.lstrip()[:4].upper() == "$TTL":
                default = ""
            yield line
        elif _is_head(cells):
            names = (cell.lower() for cell in cells)
            head = ["content" if name in _CONTENT else name for name in names]
            yield f"; {line}"
        else:
            yield _record(_named(cells, head), default)


def _cells(line: str, parting: str) -> list[str]:
    """Return the cells of a table row, nothing for another line."""
    if not line.strip() or line.startswith((";", "$", "(")):
        return []
    try:
        [found] = csv.reader([line], delimiter=parting, skipinitialspace=True)
    except csv.Error:
        return []  # a cell is longer than csv reads: the reader of zone files says so
    cells = [cell.strip() for cell in found]
    # A name has no blank: this is a record whose data has commas, such as a TXT.
    return cells if len(cells) >= _LEAST and not cells[0].split()[1:] else []


def _named(cells: Sequence[str], head: Sequence[str]) -> dict[str, str]:
    """Return the cells by what they are."""
    if head:
        return dict(zip(head, cells, strict=False))
    name, *rest = cells
    rest = [cell for cell in rest if cell.upper() != "IN"]
    # Before the type, as in a zone file, or after the content.
    place = 0 if rest[0][:1].isdigit() else 2
    ttl = rest.pop(place) if rest[place:] and rest[place][:1].isdigit() else ""
    kind, *content = [*rest, ""]
    return {
        "name": name,
        "type": kind,
        "content": " ".join(filter(None, content)),
        "ttl": ttl,
    }


def _record(row: dict[str, str], default: str) -> str:
    """Return a row as a line, in which nothing of a cell is syntax of zone files."""
    cells = (row.get("name") or "@", row.get("ttl") or default)
    said = filter(None, [*cells, row.get("type"), row.get("content")])
    return _SYNTAX.sub(r"\\\g<0>", " ".join(said))
