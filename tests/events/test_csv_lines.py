"""Lines of CSV hold what was written, and no cell that a spreadsheet would run."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.pages import csv_pieces
from meshmgmt.api.exports import csv_lines

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
FIELDS = ["a", "b", "c"]

texts = st.text(st.sampled_from("=+-@\t\r\n,;\"'a[é1 \0\\\x1c\u2028😀"), max_size=5)
texts |= st.text(st.characters(codec="utf-8"), max_size=5)
counts = st.integers(-9, 9) | st.integers()
objects = st.lists(texts, max_size=2) | st.dictionaries(texts, texts, max_size=2)
values = st.one_of(texts, st.none(), counts, st.booleans(), st.floats(), objects)


def expected(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        text = str(value)
    else:
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(FORMULAS) else text


def plain(fields: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """Write cell by cell, as the library does."""
    out = io.StringIO(newline="")
    lines = [fields, *[[expected(value) for value in row] for row in rows]]
    csv.writer(out).writerows(lines)
    return out.getvalue().encode()


# Columns of one kind, and of many, in more lines than one piece has.
tables = st.lists(
    st.tuples(texts, counts, values) | st.tuples(values, values, values), max_size=200
)


@given(tables)
@example([("a\r\n", "=1", '"'), ("\r\n", '"=', ",-"), ('"\r', "", "\r")])
@example([("plain", "a", None)] * 200)
def test_lines_are_those_of_the_csv_library_with_formulas_quoted(
    rows: list[tuple[Any, ...]],
):
    written = b"".join(csv_lines(FIELDS, rows))
    assert written == plain(FIELDS, rows)
    read = list(csv.reader(io.StringIO(written.decode(), newline="")))
    assert read == [FIELDS, *[[expected(value) for value in row] for row in rows]]


ends = st.fixed_dictionaries(
    {"geo_location": st.dictionaries(st.just("city_name"), texts)},
    optional=dict.fromkeys(("id", "name", "os"), texts | st.none()),
)
people = st.dictionaries(st.sampled_from(("id", "name", "unknown")), texts)
traffic = st.fixed_dictionaries(
    {"source": ends, "destination": ends, "user": people, "policy": people}
    | {"icmp": st.dictionaries(st.just("type"), st.integers(0, 255))},
    optional={"id": texts, "rx_bytes": st.integers(0, 2**63 - 1), "unknown": objects}
    | {"events": st.lists(st.dictionaries(texts, texts), max_size=2)},
)
proxy = st.fixed_dictionaries(
    {},
    optional={"id": texts, "path": texts, "status_code": st.integers(0, 999)}
    | {"metadata": st.dictionaries(texts, texts), "unknown": objects},
)
CONTENTS = {"traffic": traffic, "proxy": proxy}


def flat(content: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return an event with its own objects' fields beside its own."""
    found: dict[str, Any] = {}
    for name, value in content.items():
        inner = isinstance(value, dict) and name != "metadata"
        found |= flat(value, f"{prefix}{name}_") if inner else {prefix + name: value}
    return found


@pytest.mark.parametrize("stream", [TRAFFIC, PROXY], ids=lambda stream: stream.name)
@given(st.data())
def test_cells_of_events_are_what_their_texts_hold(stream: Stream, data: st.DataObject):
    events = data.draw(st.lists(CONTENTS[stream.name], max_size=4))
    stored = [orjson.dumps(event) for event in events]
    heading = b"".join(csv_pieces(stream, [])).decode()
    fields = heading.removesuffix("\r\n").split(",")
    rows = [list(map(flat(event).get, fields)) for event in map(orjson.loads, stored)]
    assert b"".join(csv_pieces(stream, [stored])) == plain(fields, rows)
