"""Reading zone files: what is taken, what is refused and where."""

import contextlib
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dns.content import RECORD_TYPES
from dns.zonefile import reader
from dns.zonefile.lexer import Fault, ZoneFileError
from dns.zonefile.reader import Skipped, ZoneFile, read_zone
from meshmgmt.mesh.snapshot import Record

EVERYTHING = """\
; a comment; with "quotes' and (parentheses
$TTL 1h
@ IN SOA ns.corp.lan. hostmaster.corp.lan. (
        2026010101 ; serial
        3h 1h 1w   ; refresh, retry, expire
        300 )
        IN NS ns
        IN NS ns.elsewhere.example.
@       60 IN A 10.0.0.1
        IN 1h30m A 10.0.0.2
www     CNAME @
ftp     IN CNAME www
ext     CNAME target.example.org.
*.dev   A 10.0.0.3
v6      IN AAAA ( 2001:db8::1
                ) ; the end
$ORIGIN sub
deep    A 10.0.0.4
@       A 10.0.0.5
$ORIGIN corp.lan.
mail    IN MX 10 mail.example.org.
txt     TXT "two words ; no comment" "and (more)"
host    TYPE65534 \\# 0
deleg   NS ns.elsewhere.example.
"""


def records(text: str) -> list[tuple[str, str, str, int]]:
    return [
        (r.name, r.type, r.content, r.ttl)
        for r in read_zone(text, domain="corp.lan").records
    ]


def faults(text: str, *, strict: bool = False) -> tuple[Fault, ...]:
    with pytest.raises(ZoneFileError) as caught:
        read_zone(text, domain="corp.lan", strict=strict)
    return caught.value.faults


def test_everything_a_zone_file_may_hold():
    zone = read_zone(EVERYTHING, domain="corp.lan")
    assert records(EVERYTHING) == [
        ("corp.lan", "A", "10.0.0.1", 60),
        ("corp.lan", "A", "10.0.0.2", 5400),
        ("www.corp.lan", "CNAME", "corp.lan", 3600),
        ("ftp.corp.lan", "CNAME", "www.corp.lan", 3600),
        ("ext.corp.lan", "CNAME", "target.example.org", 3600),
        ("*.dev.corp.lan", "A", "10.0.0.3", 3600),
        ("v6.corp.lan", "AAAA", "2001:db8::1", 3600),
        ("deep.sub.corp.lan", "A", "10.0.0.4", 3600),
        ("sub.corp.lan", "A", "10.0.0.5", 3600),
    ]
    assert zone.skipped == (
        Skipped(21, "mail.corp.lan", "MX"),
        Skipped(22, "txt.corp.lan", "TXT"),
        Skipped(23, "host.corp.lan", "TYPE65534"),
        Skipped(24, "deleg.corp.lan", "NS"),
    )
    assert zone.ignored == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 60 A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("a in 60 a 1.2.3.4\r\n", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("\ufeffa 60 CLASS1 A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("A.Corp.LAN. 60 A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("a\t60\tAAAA\t2001:DB8:0::1", [("a.corp.lan", "AAAA", "2001:db8::1", 60)]),
        ("münchen 60 A 1.2.3.4", [("xn--mnchen-3ya.corp.lan", "A", "1.2.3.4", 60)]),
        ("\\097 60 A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("\\042.\\a 60 A 1.2.3.4", [("*.a.corp.lan", "A", "1.2.3.4", 60)]),
        ("$ORIGIN .\na.corp.lan 60 A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("((a) 60\n A\n1.2.3.4)\n", [("a.corp.lan", "A", "1.2.3.4", 60)]),
        ("$TTL 2147483647\na A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 2**31 - 1)]),
        ("$TTL 1W2d3H4m5S\na A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 788645)]),
        ("a 0 A 1.2.3.4", [("a.corp.lan", "A", "1.2.3.4", 0)]),
        ("", []),
        ("\n \n; nothing\n\t; at all", []),
    ],
)
def test_ways_to_write_the_same(text: str, expected: list[tuple[str, str, str, int]]):
    assert records(text) == expected


def test_rare_types_are_listed_too():
    zone = read_zone("a 60 MINFO b c\n 60 NSAP-PTR d\n 60 L32 1 e", domain="corp.lan")
    assert [each.type for each in zone.skipped] == ["MINFO", "NSAP-PTR", "L32"]


def test_a_record_without_ttl_takes_the_nearest_default():
    soa = "@ 9 SOA ns. mail. 1 2 3 4 77\n"
    minimum = "@ SOA ns. mail. 1 2 3 4 77\n"
    assert records(minimum + "a A 1.1.1.1")[0][3] == 77
    assert records(soa + "a A 1.1.1.1")[0][3] == 9
    assert records("a 5 A 1.1.1.1\nb A 1.1.1.1")[1][3] == 5
    assert records("$TTL 8\na 5 A 1.1.1.1\nb A 1.1.1.1")[1][3] == 8


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("$INCLUDE /etc/passwd", 1, 1, "not allowed"),
        ("\n$GENERATE 1-9 a$ A 1.2.3.4", 2, 1, "not allowed"),
        ("$TTL", 1, 1, "needs one value, not 0"),
        ("$ORIGIN a b", 1, 1, "needs one value, not 2"),
        ("$TTL soon", 1, 6, "not a TTL"),
        ("$TTL 2147483648", 1, 6, "over 2147483647"),
        ("$TTL 99999999999999999999", 1, 6, "not a TTL"),
        ("a 99999999999 A 1.2.3.4", 1, 3, "not a TTL"),
        ("a 4000w A 1.2.3.4", 1, 3, "over 2147483647"),
        ("a 1h30 A 1.2.3.4", 1, 3, "not a TTL"),
        ("a ² A 1.2.3.4", 1, 3, "not a TTL"),
        ("$ORIGIN " + "x" * 300, 1, 9, "longer than 255"),
        ("a A 1.2.3.4", 1, 3, "no TTL"),
        (" 60 A 1.2.3.4", 1, 2, "no owner"),
        ("a 60 IN", 1, 6, "no type"),
        ("a", 1, 1, "no type"),
        ("a 60 CH A 1.2.3.4", 1, 6, "not IN"),
        ("a 60 CLASS3 A 1.2.3.4", 1, 6, "not IN"),
        ("a 60 IN NOPE 1.2.3.4", 1, 9, "not a TTL, class or record type"),
        ('a 60 IN "A" 1.2.3.4', 1, 9, "not a TTL, class or record type"),
        ("a 60 A", 1, 6, "has no value"),
        ("a 60 A 1.2.3.4 5.6.7.8", 1, 16, "one value only"),
        ('a 60 A "1.2.3.4"', 1, 8, "not quoted"),
        ("a 60 A 999.1.1.1", 1, 8, "IPv4 address"),
        ("a 60 AAAA 1.1.1.1", 1, 11, "IPv6 address"),
        ("ok 60 A 1.1.1.1\nb. 60 A 1.1.1.1", 2, 1, "not inside the zone"),
        ("$TTL 60\nb..a A 1.1.1.1", 2, 1, "label is empty"),
        ("a_ 60 A 1.1.1.1", 1, 1, "must end with"),
        ("-a 60 A 1.1.1.1", 1, 1, "starts with"),
        ("a\\.b 60 A 1.1.1.1", 1, 1, "letters, digits"),
        # The dot is escaped in the first, and ends a whole name in the second.
        ("$ORIGIN a\\.\nb 60 A 1.1.1.1", 2, 1, ".corp.lan' is not valid"),
        ("$ORIGIN a\\\\.\nb 60 A 1.1.1.1", 2, 1, "a\\\\\\\\' is not valid"),
        ("@ 60 CNAME a", 1, 6, "apex"),
        ("a 60 CNAME *.b", 1, 12, "wildcards"),
        ("a 60 A (1.2.3.4", 1, 8, "never closed"),
        ("a 60 A 1.2.3.4)", 1, 15, "no parenthesis is open"),
        ("a 60 A " + "(" * 17, 1, 24, "nested too deeply"),
        ('a 60 TXT "open\nb 60 A 1.1.1.1', 1, 10, "does not end"),
        ("a 60 TXT \\", 1, 10, "backslash"),
        ("x" * 5000, 1, 1, "longer than 4096"),
        ("a 60 TXT" + " x" * 2000, 1, 2052, "more than 1024 words"),
        ("a 60 SOA ns. m. 1 2 3 4 5", 1, 1, "apex only"),
        ("@ 60 SOA ns. m. 1 2 3 4", 1, 6, "7 values, not 6"),
        ("@ 60 SOA ns. m. 1 2 3 4 x", 1, 25, "not a TTL"),
        ("a 60 A 1.1.1.1\na 61 A 1.1.1.1", 2, 3, "above with the TTL 60"),
        ("a 60 A 1.1.1.1\n 60 CNAME b", 2, 5, "must be alone"),
        ("a 60 CNAME b\na 60 A 1.1.1.1", 2, 1, "must be alone"),
        ("a 60 CNAME b\na 60 CNAME c", 2, 1, "must be alone"),
    ],
)
def test_faults_name_line_and_column(text: str, line: int, column: int, words: str):
    [fault] = faults(text)
    assert (fault.line, fault.column) == (line, column)
    assert words in fault.message


def test_all_faults_are_reported_up_to_twenty():
    found = faults("bad. 60 A x\nok 60 A 1.1.1.1\nb 60 A y\n")
    assert [(f.line, f.column) for f in found] == [(1, 1), (1, 11), (3, 8)]
    assert str(found[2]).startswith("line 3, column 8: ")
    assert len(faults("a 60 A x\n" * 1000)) == 20


def test_the_apex_is_known_in_every_spelling():
    text = "MÜNCHEN.de. 60 IN SOA a. b. 1 2 3 4 5\nmünchen.de. 60 NS a.\n"
    assert read_zone(text, domain="xn--mnchen-3ya.de") == ZoneFile((), ignored=2)


def test_repeated_records_are_folded():
    zone = read_zone("a 60 A 1.1.1.1\nA 60 A 1.1.1.1\n", domain="corp.lan")
    assert zone == ZoneFile(
        records=(Record("a.corp.lan", "A", "1.1.1.1", 60),), repeated=1
    )


def test_strict_reading_refuses_other_types():
    text = "@ 60 NS ns\na 60 MX 1 b\n"
    assert len(read_zone(text, domain="corp.lan").skipped) == 1
    [fault] = faults(text, strict=True)
    assert (fault.line, fault.column) == (2, 6)


def test_a_file_over_the_limits_is_refused(monkeypatch: pytest.MonkeyPatch):
    [fault] = faults(" " * (16 * 1024 * 1024 + 1))
    assert "longer than" in fault.message
    assert reader.MAX_ENTRIES == 100_000
    monkeypatch.setattr(reader, "MAX_ENTRIES", 100)
    text = "".join(f"{number} 60 A 1.1.1.1\n" for number in range(101))
    assert "more than 100 entries" in faults(text)[-1].message


HOSTILE = {
    "parentheses": ("a 60 A ", "("),
    "pairs": ("", "()"),
    "pairs on lines": ("", "(\n)\n"),
    "one word": ("", "a"),
    "escapes": ("", "\\a"),
    "open quote": ('a 60 TXT "', "x"),
    "quotes": ("", '""'),
    "empty lines": ("", "\n"),
    "comment lines": ("", " ;\r\n"),
    "blanks": ("", " \t"),
    "comment": ("", ";"),
    "lines in parentheses": ("a 60 A (", "\n"),
    "same record": ("", "a 60 A 1.1.1.1\n"),
    "other types": ("", "a 60 TXT x\n"),
    "faults": ("", "a 60 A x\n"),
    "digits": ("$TTL ", "9"),
    "directives": ("", "$TTL 1\n"),
    "origins": ("", "$ORIGIN a\n"),
}


def cost(kind: str, size: int) -> tuple[float, int]:
    """Seconds of CPU and peak bytes of reading a hostile text."""
    start_text, repeated = HOSTILE[kind]
    text = start_text + repeated * (size // len(repeated))
    tracemalloc.start()
    start = time.process_time()
    with contextlib.suppress(ZoneFileError):
        read_zone(text, domain="corp.lan")
    spent = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return spent, peak


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_takes_bounded_time_and_memory(kind: str):
    spent, peak = cost(kind, 64 * 1024)
    # Tracing slows allocation down several times.
    assert spent < 10
    assert peak < 10 * 1024 * 1024


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", HOSTILE)
def test_ten_hostile_megabytes_take_bounded_time_and_memory(kind: str):
    spent, peak = cost(kind, 10 * 1024 * 1024)
    assert spent < 90
    assert peak < 100 * 1024 * 1024


def test_long_messages_are_cut():
    for start_text, repeated in HOSTILE.values():
        text = start_text + repeated * 5_000
        with contextlib.suppress(ZoneFileError):
            read_zone(text, domain="corp.lan")
            continue
        assert all(len(fault.message) < 300 for fault in faults(text))


pieces = st.sampled_from(
    [
        *["a", "@", "*", "60", "1h", "IN", "A", "AAAA", "CNAME", "SOA", "NS", "TXT"],
        *["1.2.3.4", "::1", "b.c.", "$TTL", "$ORIGIN", "$INCLUDE", "(", ")", '"'],
        *[";", "\\", " ", "\t", "\n", "\r", "\x00", "ü", "\ud800", "."],
    ]
)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=200), st.lists(pieces, max_size=40).map(" ".join)))
def test_no_text_crashes_the_reader(text: str):
    lines = text.count("\n") + text.count("\r") + 1
    found: tuple[Fault, ...] = ()
    try:
        zone = read_zone(text, domain="corp.lan")
    except ZoneFileError as error:
        found = error.faults
    else:
        assert all(record.type in RECORD_TYPES for record in zone.records)
    for fault in found:
        assert 1 <= fault.line <= lines
        assert fault.column >= 1
