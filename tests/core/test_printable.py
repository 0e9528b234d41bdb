"""What others chose cannot forge a line or command a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.core.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ann Müller 東京 🚀", "Ann Müller 東京 🚀"),
        ("a\nb\r\t", r"a\nb\r\t"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x7f\x9b2J", r"\x7f\x9b2J"),
        ("\u202eevil\u2066\u200f", r"\u202eevil\u2066\u200f"),
        ("\u2028\x85\x0b", r"\u2028\x85\x0b"),
        ("", ""),
    ],
)
def test_what_is_not_seen_is_written_as_an_escape(text: str, shown: str):
    assert printable(text) == shown


@given(st.text())
def test_the_result_is_one_line_of_visible_characters(text: str):
    assert printable(text).isprintable()
    assert len(printable(text).splitlines()) <= 1
