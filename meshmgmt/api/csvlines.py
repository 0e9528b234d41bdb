"""Rows as CSV, for programs that calculate tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

import orjson

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_QUOTED: Final = re.compile(r'[",\r\n]')
_BETWEEN: Final = "\0"
_SPECIAL: Final = re.compile(r'[",\r\n=+\-@\t](?:(?<=[",\r\n])|(?<![^\0].))', re.DOTALL)
"""Finds what keeps any of a column's cells, joined, from being written as it is."""

_PIECE: Final = 64
"""Lines that are made and sent at once: most columns of so many need one look only."""


def csv_lines(fields: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Yield a heading and one line per row (RFC 4180), in pieces; objects as JSON text.

    There are two fields at least. Rows hold a value for each; None is empty. Cells that
    a spreadsheet would run as a formula are quoted: names are chosen by users, and the
    reader of an export is often an administrator.
    """
    lines = chain([fields], rows)
    while piece := list(islice(lines, _PIECE)):
        columns = map(_column, zip(*piece, strict=True))
        texts = map(",".join, zip(*columns, strict=True))
        yield "\r\n".join((*texts, "")).encode()


def _column(values: Sequence[Any]) -> Sequence[str]:
    """Return the cells of a column as their lines hold them."""
    # Most columns are texts without anything special: one search clears all of their cells.
    plain = set(map(type, values)) == {str}
    texts = values if plain else list(map(_text, values))
    special = _SPECIAL.search(_BETWEEN.join(texts))
    return list(map(_cell, texts)) if special else texts


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    return str(value) if type(value) is int else orjson.dumps(value).decode()


def _cell(text: str) -> str:
    safe = f"'{text}" if text.startswith(_FORMULA) else text
    if _QUOTED.search(safe) is None:
        return safe
    doubled = safe.replace('"', '""')
    return f'"{doubled}"'
