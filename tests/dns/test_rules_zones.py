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


def of_zone(draft: ZoneDraft) -> list[FieldError]:
    return zone_errors(
        draft,
        known_groups={"g1"},
        peer_domain="Mesh.Internal",
        used_domains={"taken.lan"},
        stored_domain=None,
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


def test_record_errors_come_in_deciding_order() -> None:
    draft = RecordDraft(name="other.lan", type="A", content="x", ttl=-1)
    assert [error.field for error in of_record(draft)] == ["name", "content", "ttl"]


def test_a_cname_bears_records_of_other_names() -> None:
    alias = StoredRecord("ftp.corp.lan", "CNAME", "a.example")
    address = StoredRecord.of(RECORD)
    assert record_conflicts(alias, [address]) == []
    assert record_conflicts(address, [alias]) == []


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
