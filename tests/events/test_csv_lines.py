"""Lines of CSV hold what was written, and no cell that a spreadsheet would run."""

import csv
import io
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.api.csvlines import csv_lines

FORMULAS = ("=", "+", "-", "@", "\t", "\r")

texts = st.text(st.sampled_from("=+-@\t\r\n,\"'a[é1 "), max_size=5)
values = st.one_of(
    texts,
    st.none(),
    st.integers(-9, 9),
    st.booleans(),
    st.lists(texts, max_size=2),
    st.dictionaries(texts, texts, max_size=2),
)


def expected(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(FORMULAS) else text


@given(st.lists(st.lists(values, min_size=2, max_size=4), max_size=200))
def test_what_is_read_back_is_what_was_written_with_formulas_quoted(
    rows: list[list[Any]],
) -> None:
    text = b"".join(csv_lines(["a", "b"], rows)).decode()
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [["a", "b"], *[[expected(value) for value in row] for row in rows]]
