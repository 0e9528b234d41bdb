"""Rules of zones and records."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.rules.records import RecordDraft, StoredRecord, record_conflicts, record_errors
from dns.rules.zones import ZoneDraft, zone_errors
from meshmgmt.core.fielderrors import FieldError

ZONE = ZoneDraft(name="Office", domain="Corp.Lan.", distribution_groups=["g1"])
RECORD = RecordDraft(name="www.corp.lan", type="A", content="10.0.0.1", ttl=300)


def of_zone(draft: ZoneDraft, stored_domain: str | None = None) -> list[FieldError]:
    return zone_errors(
        draft,
        known_groups={"g1"},
        peer_domain="Mesh.Internal",
        used_domains={"taken.lan"},
        stored_domain=stored_domain,
    )


def of_record(draft: RecordDraft) -> list[FieldError]:
    return record_errors(draft, zone_domain="Corp.lan")


@pytest.mark.parametrize(
    "draft",
    [
        ZONE,
        replace(ZONE, distribution_groups=[]),
        replace(ZONE, name="日" * 255),
        replace(ZONE, domain="sub.mesh.internal"),
        replace(ZONE, domain="internal"),
        replace(ZONE, domain="münchen.de"),
    ],
)
def test_good_zones_pass(draft: ZoneDraft) -> None:
    assert of_zone(draft) == []


@pytest.mark.parametrize(
    ("draft", "field", "words", "conflict"),
    [
        (replace(ZONE, name=""), "name", "1 to 255", False),
        (replace(ZONE, name="x" * 256), "name", "1 to 255", False),
        (replace(ZONE, domain="*.corp.lan"), "domain", "wildcards", False),
        (replace(ZONE, domain=""), "domain", "empty", False),
        (replace(ZONE, domain="MESH.internal."), "domain", "own names", False),
        (replace(ZONE, domain="Taken.LAN"), "domain", "already exists", True),
        (
            replace(ZONE, distribution_groups=["g1", "g2"]),
            "distribution_groups[1]",
            "group 'g2' was not found",
            False,
        ),
    ],
)
def test_each_broken_zone_rule_is_one_error(
    draft: ZoneDraft, field: str, words: str, *, conflict: bool
) -> None:
    [error] = of_zone(draft)
    assert error.field == field
    assert words in error.message
    assert error.conflict is conflict


def test_the_domain_of_a_zone_cannot_change_but_its_spelling_may() -> None:
    assert of_zone(ZONE, stored_domain="corp.lan") == []
    [error] = of_zone(ZONE, stored_domain="other.lan")
    assert error.field == "domain"
    assert "cannot be changed" in error.message


def test_an_update_is_not_a_conflict_with_itself() -> None:
    taken = replace(ZONE, domain="taken.lan")
    assert of_zone(taken, stored_domain="taken.lan") == []


@pytest.mark.parametrize(
    "draft",
    [
        RECORD,
        replace(RECORD, name="CORP.LAN."),
        replace(RECORD, name="*.corp.lan"),
        replace(RECORD, name="*.a.corp.lan", type="CNAME", content="elsewhere.example"),
        replace(RECORD, type="AAAA", content="2001:db8::1"),
        replace(RECORD, ttl=0),
        replace(RECORD, ttl=2**31 - 1),
    ],
)
def test_good_records_pass(draft: RecordDraft) -> None:
    assert of_record(draft) == []


@pytest.mark.parametrize(
    ("draft", "field", "words"),
    [
        (replace(RECORD, name=""), "name", "empty"),
        (replace(RECORD, name="a b.corp.lan"), "name", "letters, digits"),
        (replace(RECORD, name="www.other.lan"), "name", "not inside the zone"),
        (replace(RECORD, name="xcorp.lan"), "name", "not inside the zone"),
        (replace(RECORD, name="*.lan"), "name", "not inside the zone"),
        (replace(RECORD, type="a"), "type", "A, AAAA or CNAME"),
        (replace(RECORD, type=""), "type", "A, AAAA or CNAME"),
        (replace(RECORD, type="MX"), "type", "A, AAAA or CNAME"),
        (replace(RECORD, content=""), "content", "IPv4 address"),
        (replace(RECORD, content="::ffff:1.2.3.4"), "content", "IPv4 address"),
        (replace(RECORD, type="AAAA"), "content", "IPv6 address"),
        (replace(RECORD, type="CNAME", content="*.x"), "content", "wildcards"),
        (
            RecordDraft(name="corp.lan", type="CNAME", content="a.lan", ttl=1),
            "type",
            "apex",
        ),
        (replace(RECORD, ttl=-1), "ttl", "between 0 and 2147483647"),
        (replace(RECORD, ttl=2**31), "ttl", "between 0 and 2147483647"),
    ],
)
def test_each_broken_record_rule_is_one_error(
    draft: RecordDraft, field: str, words: str
) -> None:
    [error] = of_record(draft)
    assert error.field == field
    assert words in error.message
    assert not error.conflict


def test_record_errors_come_in_deciding_order() -> None:
    draft = RecordDraft(name="other.lan", type="A", content="x", ttl=-1)
    assert [error.field for error in of_record(draft)] == ["name", "content", "ttl"]


def stored(name: str, record_type: str, content: str) -> StoredRecord:
    return StoredRecord.of(RecordDraft(name, record_type, content, 60))


def test_an_identical_record_in_another_spelling_is_a_conflict() -> None:
    old = stored("www.corp.lan", "AAAA", "2001:db8::1")
    new = stored("WWW.corp.lan.", "AAAA", "2001:DB8:0::1")
    [error] = record_conflicts(new, [old])
    assert error.conflict
    assert error.field == "content"


def test_several_addresses_may_share_a_name() -> None:
    others = [
        stored("www.corp.lan", "A", "10.0.0.2"),
        stored("www.corp.lan", "AAAA", "::1"),
    ]
    assert record_conflicts(StoredRecord.of(RECORD), others) == []


def test_a_cname_stands_alone() -> None:
    alias = stored("www.corp.lan", "CNAME", "a.example")
    address = StoredRecord.of(RECORD)
    for candidate, other in [
        (alias, address),
        (address, alias),
        (alias, replace(alias, content="b.example")),
    ]:
        [error] = record_conflicts(candidate, [other])
        assert error.conflict
        assert error.field == "name"
    elsewhere = replace(alias, name="ftp.corp.lan")
    assert record_conflicts(alias, [replace(address, name="ftp.corp.lan")]) == []
    assert record_conflicts(address, [elsewhere]) == []


@given(
    st.text(max_size=40),
    st.sampled_from(["A", "AAAA", "CNAME", "", "x"]),
    st.text(max_size=40),
    st.integers(),
)
def test_no_record_crashes_the_rules(
    name: str, record_type: str, content: str, ttl: int
) -> None:
    draft = RecordDraft(name, record_type, content, ttl)
    for error in of_record(draft):
        assert error.field in {"name", "type", "content", "ttl"}
        assert len(error.message) < 400
