"""Canonical JSON is that of RFC 8785."""

import json
import math
import struct
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.proof.hashing import canonical

# Appendix B of the RFC: the bits of a number, and how it is written.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
    ),
)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_are_written_as_the_rfc_shows(bits: str, text: str):
    [number] = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == text.encode()


def test_the_example_of_the_rfc_comes_out_as_there():
    value = {
        "numbers": [
            333333333.33333329,
            1e30,
            4.50,
            2e-3,
            0.000000000000000000000000001,
        ],
        "string": '€$\x0f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert canonical(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,'
        '1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_names_are_sorted_by_their_utf_16_code_units():
    names = ["€", "\r", "\ufb33", "1", "😀", "\x80", "ö"]
    order = list(json.loads(canonical(dict.fromkeys(names, 0))))
    assert order == ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]


def test_whole_numbers_that_a_double_does_not_hold_are_rounded_to_one():
    assert canonical(2**53 + 1) == b"9007199254740992"
    assert canonical(-(2**64)) == b"-18446744073709552000"


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 10**400, "\ud800", {"\udfff": 1}, {1}, b""]
)
def test_what_is_not_json_has_no_canonical_form(value: Any):
    with pytest.raises((ValueError, OverflowError)):
        canonical(value)


@given(VALUES)
def test_it_says_the_same_and_is_its_own_canonical_form(value: Any):
    text = canonical(value)
    read = json.loads(text, parse_int=float)
    assert read == value
    assert canonical(read) == text


@given(VALUES)
def test_what_an_export_says_has_the_same_canonical_form(value: Any):
    assert canonical(json.loads(orjson.dumps(value))) == canonical(value)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.none()))
def test_the_order_of_names_says_nothing(value: dict[str, None]):
    assert canonical(dict(reversed(value.items()))) == canonical(value)
