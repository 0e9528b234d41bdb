"""Domain-name syntax: the table of the reference, as corrected by our decisions."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from meshmgmt.core import names
from meshmgmt.core.names import InvalidNameError

LONG_LABEL = "a" * 63
# 4 * 63 + 3 dots: the longest text that is accepted, longer than DNS can carry.
LONGEST = ".".join([LONG_LABEL] * 4)

# text -> canonical form as (match domain / zone / target, record name);
# None: refused.
TABLE: dict[str, tuple[str | None, str | None]] = {
    "example.com": ("example.com", "example.com"),
    "EXAMPLE.com": ("example.com", "example.com"),
    "example.com.": ("example.com", "example.com"),
    "example.com..": (None, None),
    ".": (None, None),
    "..": (None, None),
    ".com": (None, None),
    "*.example.com": (None, "*.example.com"),
    "*.EXAMPLE.com.": (None, "*.example.com"),
    "*.com": (None, "*.com"),
    "a.*.com": (None, None),
    "*": (None, None),
    "*.": (None, None),
    "*.*.com": (None, None),
    "**.example.com": (None, None),
    "*a.example.com": (None, None),
    "com": ("com", "com"),
    "a": ("a", "a"),
    "_srv._tcp.example.com": ("_srv._tcp.example.com", "_srv._tcp.example.com"),
    "_.example.com": ("_.example.com", "_.example.com"),
    "ex_ample.com": ("ex_ample.com", "ex_ample.com"),
    "example.c_m": ("example.c_m", "example.c_m"),
    "_example": (None, None),
    "_": (None, None),
    "*._example": (None, None),
    "a._b": (None, None),
    "example_": (None, None),
    "foo_.com": (None, None),
    "a.b_": (None, None),
    "-a.com": (None, None),
    "a-.com": (None, None),
    "a..b": (None, None),
    "": (None, None),
    " ": (None, None),
    "a b.com": (None, None),
    "host:53": (None, None),
    "a.com\n": (None, None),
    "a.com\x00": (None, None),
    "a/b.com": (None, None),
    "ab--cd.com": ("ab--cd.com", "ab--cd.com"),
    "münchen.de": ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    "MÜNCHEN.de": ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    "*.münchen.de": (None, "*.xn--mnchen-3ya.de"),
    "中国.中国": ("xn--fiqs8s.xn--fiqs8s", "xn--fiqs8s.xn--fiqs8s"),
    "中国。中国": ("xn--fiqs8s.xn--fiqs8s", "xn--fiqs8s.xn--fiqs8s"),
    "\uff45\uff58.com": ("ex.com", "ex.com"),
    "straße.de": ("xn--strae-oqa.de", "xn--strae-oqa.de"),
    "_x.münchen.de": ("_x.xn--mnchen-3ya.de", "_x.xn--mnchen-3ya.de"),
    "xn--mnchen-3ya.de": ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    "XN--MNCHEN-3YA.de": ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    **{
        name: (name, name)
        for label in ("_x", "_", "a_b", LONG_LABEL)
        for name in [f"{label}.xn--mnchen-3ya.de"]
    },
    "a-.xn--mnchen-3ya.de": (None, None),
    "a_.xn--mnchen-3ya.de": (None, None),
    "xn--.de": (None, None),
    "xn--a.de": (None, None),
    "xn---bbk.de": (None, None),
    "☃.de": (None, None),
    "\u200b.de": (None, None),
    "\ud800.de": (None, None),
    "1.2.3.4": ("1.2.3.4", "1.2.3.4"),
    "10": ("10", "10"),
    f"{LONG_LABEL}.com": (f"{LONG_LABEL}.com", f"{LONG_LABEL}.com"),
    f"{LONG_LABEL}a.com": (None, None),
    "ü" * 80 + ".de": (None, None),
    LONGEST: (LONGEST, LONGEST),
    LONGEST + ".": (None, None),
}


def parsed(parser: Callable[[str], str], text: str) -> str | None:
    try:
        return parser(text)
    except InvalidNameError:
        return None


@pytest.mark.parametrize("text", TABLE)
def test_names_follow_the_table(text: str):
    plain, record = TABLE[text]
    assert parsed(names.parse_name, text) == plain
    assert parsed(names.canonical, text) == record


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("a..b", "a label is empty"),
        ("x" * 256, "longer than 255 characters"),
        (f"{LONG_LABEL}a.com", "longer than 63"),
        ("*.a.com", "wildcards are not allowed"),
        ("a.*.com", "wildcard may only be the first label"),
        ("a b.com", "letters, digits"),
        ("-a.com", "starts with"),
        ("_example", "starts with"),
        ("a-.com", "must end with"),
        ("foo_.com", "must end with"),
        ("xn--a.de", "not the encoding"),
        ("a☃.de", "IDNA 2008"),
        ("a\ue000.de", "cannot hold"),
    ],
)
def test_the_reason_is_named(text: str, reason: str):
    with pytest.raises(InvalidNameError, match=re.escape(reason)):
        names.parse_name(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("_dmarc.A_.Example.", "_dmarc.a_.example"),
        ("-x.example", "-x.example"),
        ("*.example", "*.example"),
        ("münchen.de", "xn--mnchen-3ya.de"),
        ("laptop", "laptop"),
    ],
)
def test_query_names_may_be_what_no_record_can(text: str, canonical: str):
    assert names.parse_query_name(text) == canonical


@pytest.mark.parametrize("text", ["", ".", "a..b", "a b", "a.*.b", "x" * 64, "a\x00"])
def test_query_names_still_have_a_syntax(text: str):
    with pytest.raises(InvalidNameError):
        names.parse_query_name(text)


def test_names_over_253_octets_are_kept_and_known_as_too_long():
    assert names.is_too_long(names.parse_name(LONGEST))
    assert not names.is_too_long(names.parse_name(LONGEST[2:]))
    unicode_name = ".".join(["ü" * 20] * 10)
    assert names.is_too_long(names.parse_name(unicode_name))


def test_subdomains_end_at_a_label():
    assert names.is_subdomain("a.example.com", "example.com")
    assert names.is_subdomain("example.com", "example.com")
    assert not names.is_subdomain("badexample.com", "example.com")
    assert not names.is_subdomain("com", "example.com")


def test_ancestors_run_from_left_to_right():
    assert list(names.ancestors("a.b.c")) == ["a.b.c", "b.c", "c"]


def test_quoted_text_is_printable_and_short():
    assert names.quoted("a\nb") == "'a\\nb'"
    assert names.quoted("x" * 80) == repr("x" * 80)
    assert names.quoted("x" * 81) == repr("x" * 79 + "…")
    assert len(names.quoted("x" * 100_000)) == 82


# A hand-written reading of the reference's pattern, for ASCII names without
# A-labels; independent of the implementation's regular expression.
def naive_is_name(text: str, *, wildcard: bool) -> bool:
    stem = text.removesuffix(".").lower()
    if wildcard and stem.startswith("*."):
        stem = stem[2:]
    parts = stem.split(".")
    inner = set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    alphanumeric = inner - set("-_")
    for position, part in enumerate(parts):
        if not 1 <= len(part) <= 63 or not set(part) <= inner:
            return False
        last = position == len(parts) - 1
        if part[0] not in alphanumeric | (set() if last else {"_"}):
            return False
        if len(part) > 1 and part[-1] not in alphanumeric:
            return False
    return len(text) <= 255


ascii_names = st.text(alphabet="aZ9-_.*", min_size=0, max_size=12)


@given(ascii_names)
@example("a" * 64)
@example("_")
def test_ascii_names_agree_with_a_naive_reading(text: str):
    for wildcard, parser in ((False, names.parse_name), (True, names.canonical)):
        expected = naive_is_name(text, wildcard=wildcard)
        assert (parsed(parser, text) is not None) == expected


any_text = st.one_of(
    st.text(max_size=300),
    st.lists(st.text(max_size=12), max_size=8).map(".".join),
    st.from_regex(r"(xn--)?[a-z0-9_-]{1,12}(\.(xn--)?[a-z0-9-]{1,12}){0,4}\.?"),
)


def check_canonical_form(text: str) -> None:
    for parser in (names.canonical, names.parse_query_name):
        name = parsed(parser, text)
        if name is None:
            continue
        assert name.isascii()
        assert name == name.lower()
        assert not name.endswith(".")
        assert all(1 <= len(label) <= 63 for label in name.split("."))
        if len(name) <= names.MAX_TEXT:
            assert parser(name) == name
            if len(name) < names.MAX_TEXT:
                assert parser(name + ".") == name
            assert parser(name.upper()) == name


MANY = pytest.param(3_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])


@pytest.mark.parametrize("examples", [60, MANY])
def test_canonical_form_is_stable_and_no_text_crashes(examples: int):
    settings(max_examples=examples)(given(any_text)(check_canonical_form))()
