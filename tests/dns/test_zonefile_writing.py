"""Writing and comparing zone files."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dns.zonefile.changes import Change, Diff, compare, merge_conflicts, told
from dns.zonefile.reader import read_zone
from dns.zonefile.writer import unwritable, write_zone
from meshmgmt.mesh.snapshot import Record
from tests.explain import accounts
from tests.programs import program, ran

A1 = Record("a.corp.lan", "A", "10.0.0.1", 60, id="r1")
A2 = Record("a.corp.lan", "A", "10.0.0.2", 60, id="r2")
B = Record("b.corp.lan", "CNAME", "a.corp.lan", 60, id="r3")
MOVED = Record("a.corp.lan", "A", "10.0.0.9", 60)
ELSEWHERE = Record("b.corp.lan", "CNAME", "x.example", 60)


def test_the_canonical_form_is_sorted_and_explicit():
    records = [
        Record("z.corp.lan", "CNAME", "x.example", 5),
        Record("a.z.corp.lan", "A", "10.0.0.10", 5),
        Record("a.z.corp.lan", "A", "10.0.0.9", 5),
        Record("a.z.corp.lan", "AAAA", "2001:db8::1", 5),
        Record("*.corp.lan", "A", "10.0.0.1", 0),
        Record("corp.lan", "A", "10.0.0.1", 5),
        Record("b.corp.lan", "A", "10.0.0.1", 5),
    ]
    assert write_zone("corp.lan", records) == (
        "$ORIGIN corp.lan.\n"
        "@\t5\tIN\tA\t10.0.0.1\n"
        "*\t0\tIN\tA\t10.0.0.1\n"
        "b\t5\tIN\tA\t10.0.0.1\n"
        "z\t5\tIN\tCNAME\tx.example.\n"
        "a.z\t5\tIN\tA\t10.0.0.9\n"
        "a.z\t5\tIN\tA\t10.0.0.10\n"
        "a.z\t5\tIN\tAAAA\t2001:db8::1\n"
    )


def check_round_trip(records: tuple[Record, ...]) -> None:
    first = write_zone("corp", records)
    read = read_zone(first, domain="corp")
    assert set(read.records) == set(records)
    assert write_zone("corp", read.records) == first
    shuffled = list(records)
    random.Random(1).shuffle(shuffled)
    assert write_zone("corp", shuffled) == first
    with_authority = write_zone("corp", records, authority=True)
    again = read_zone(with_authority, domain="corp")
    assert again.ignored == 2
    assert write_zone("corp", again.records) == first


MANY = pytest.param(1_200, marks=[pytest.mark.slow, pytest.mark.timeout(600)])


@pytest.mark.parametrize("examples", [60, MANY])
def test_export_import_export_gives_the_same_bytes(examples: int):
    records = accounts.records("corp")
    settings(max_examples=examples)(given(records)(check_round_trip))()


def test_names_too_long_for_a_file_are_left_out_and_listed():
    kept = Record(".".join(["a" * 62] * 4)[:249] + ".corp", "A", "1.1.1.1", 1)
    long = Record(".".join(["a" * 60] * 5) + ".corp", "A", "1.1.1.1", 1)
    records = [kept, long]
    assert len(kept.name) == 254
    assert unwritable(records) == [long]
    assert unwritable(records, authority=True) == records
    assert read_zone(write_zone("corp", records), domain="corp").records == (kept,)


def test_a_name_of_255_characters_is_written():
    name = ".".join(["a" * 62] * 4)[:250] + ".corp"
    longest = Record(name, "A", "1.1.1.1", 1)
    alias = Record("b.corp", "CNAME", name, 1)
    assert len(name) == 255
    read = read_zone(write_zone("corp", [longest, alias]), domain="corp")
    assert set(read.records) == {longest, alias}


@st.composite
def long_records(draw: st.DrawFn) -> list[Record]:
    """Records of the zone `corp` whose names and targets are about as long as may be."""
    made = {}
    for _ in range(draw(st.integers(1, 5))):
        length = draw(st.integers(250, 320))
        name = ".".join(["abcde"[draw(st.integers(0, 4))] * 60] * 6)
        name = f"{name[: length - 5].rstrip('.')}.corp"
        kind, content = draw(
            st.sampled_from([("A", "1.1.1.1"), ("CNAME", name), ("CNAME", "x.corp")])
        )
        short = kind == "CNAME" and content == name and draw(st.booleans())
        owner = f"{name[:5]}.corp" if short else name
        made[owner] = Record(owner, kind, content, 60)
    return list(made.values())


@given(long_records(), st.booleans())
def test_reading_a_file_back_changes_nothing_however_long_names_are(
    records: list[Record], served: bool
):
    text = write_zone("corp", records, authority=served)
    file = read_zone(text, domain="corp")
    assert not compare(told(records, file), file.records)
    for record in unwritable(records, authority=served):
        assert f"; left out, for a name is too long: {record.name} " in text


def test_a_file_replaces_an_alias_whose_target_no_file_can_hold():
    target = ".".join(["a" * 60] * 5) + ".corp"
    alias = Record("b.corp", "CNAME", target, 60)
    file = read_zone("b 60 A 10.0.0.1\n", domain="corp")
    assert compare(told([alias], file), file.records).removed == (alias,)


def test_named_checkzone_accepts_an_export_with_authority(tmp_path: Path):
    records = [
        Record("corp.lan", "A", "10.0.0.1", 60),
        Record("corp.lan", "AAAA", "2001:db8::1", 60),
        Record("*.corp.lan", "A", "10.0.0.2", 0),
        Record("_srv._tcp.corp.lan", "A", "10.0.0.3", 2**31 - 1),
        Record("xn--mnchen-3ya.corp.lan", "CNAME", "www.corp.lan", 5),
        Record("www.corp.lan", "CNAME", "target.example.org", 5),
        Record("x" * 63 + ".corp.lan", "A", "10.0.0.4", 60),
        *(Record(f"h{n}.corp.lan", "A", f"10.1.0.{n}", n) for n in range(200)),
    ]
    path = tmp_path / "corp.lan.zone"
    path.write_text(write_zone("corp.lan", records, authority=True))
    done = ran(program("named-checkzone"), "corp.lan", path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("OK\n")
    assert "warning" not in done.stdout.lower()


def test_named_compilezone_reads_the_same_records(tmp_path: Path):
    """BIND's reading of our file, written out by BIND, is what we wrote."""
    records = (
        Record("corp.lan", "A", "10.0.0.1", 60),
        Record("*.corp.lan", "AAAA", "2001:db8::1", 7),
        Record("www.corp.lan", "CNAME", "target.example.org", 5),
    )
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text(write_zone("corp.lan", records, authority=True))
    compiler = program("named-compilezone")
    ran(compiler, "-o", target, "corp.lan", source, check=True)
    read = read_zone(target.read_text(), domain="corp.lan")
    assert set(read.records) == set(records)
    assert read.ignored == 2


def test_equal_zones_do_not_differ():
    diff = compare([A1, A2, B], [B, A2, A1])
    assert (bool(diff), diff.unchanged) == (False, 3)


def test_the_diff_tells_added_changed_and_removed():
    slower = Record("a.corp.lan", "A", "10.0.0.1", 600)
    third = Record("c.corp.lan", "A", "10.0.0.3", 60)
    assert compare([A1, A2, B], [slower, B, third]) == Diff(
        added=(third,), changed=(Change(A1, slower),), removed=(A2,), unchanged=1
    )


def test_the_only_record_of_its_name_and_type_is_changed_not_replaced():
    diff = compare([A1, B], [MOVED, ELSEWHERE])
    assert diff == Diff((), (Change(A1, MOVED), Change(B, ELSEWHERE)), (), 0)
    assert compare([A1, A2], [MOVED]) == Diff((MOVED,), (), (A1, A2), 0)


def test_a_merge_removes_nothing_and_replaces_aliases_only():
    diff = compare([A1, B], [MOVED, ELSEWHERE], merge=True)
    assert diff == Diff((MOVED,), (Change(B, ELSEWHERE),), (), 0)
    assert merge_conflicts([A1, B], diff) == []


def test_a_merge_that_puts_a_cname_beside_others_is_found():
    beside = Record("b.corp.lan", "A", "10.0.0.9", 60)
    alias = Record("a.corp.lan", "CNAME", "x.example", 60)
    diff = compare([A1, B], [beside, alias], merge=True)
    assert merge_conflicts([A1, B], diff) == ["a.corp.lan", "b.corp.lan"]


def unidentified(records: set[Record]) -> set[tuple[str, str, str, int]]:
    return {(r.name, r.type, r.content, r.ttl) for r in records}


@given(accounts.records("corp"), accounts.records("corp"))
def test_applying_a_diff_gives_the_wanted_zone(
    current: tuple[Record, ...], wanted: tuple[Record, ...]
):
    diff = compare(current, wanted)
    result = set(current) - set(diff.removed) - {c.before for c in diff.changed}
    result |= set(diff.added) | {c.after for c in diff.changed}
    assert unidentified(result) == unidentified(set(wanted))
    assert diff.unchanged == len(set(current) & set(wanted))
