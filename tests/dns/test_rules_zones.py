"""Rules of zones and records."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.rules.records import StoredRecord, record_conflicts, record_errors
from dns.rules.zones import zone_errors
from meshmgmt.core.fielderrors import FieldError

Values = dict[str, Any]
ZONE = {"name": "Office", "domain": "Corp.Lan.", "distribution_groups": ["g1"]}
ADDRESS = ("www.corp.lan", "A", "10.0.0.1")


def of_zone(zone: Values) -> list[FieldError]:
    return zone_errors(
        zone,
        known_groups={"g1"},
        peer_domain="Mesh.Internal",
        used_domains={"taken.lan"},
        stored_domain=None,
    )


def of_record(name: str, type_: str, content: str, ttl: int) -> list[FieldError]:
    record = {"name": name, "type": type_, "content": content, "ttl": ttl}
    return record_errors(record, zone_domain="Corp.lan")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"distribution_groups": []},
        {"name": "日" * 255},
        {"domain": "sub.mesh.internal"},
        {"domain": "internal"},
        {"domain": "münchen.de"},
    ],
)
def test_good_zones_pass(changes: Values) -> None:
    assert of_zone({**ZONE, **changes}) == []


def test_record_errors_come_in_deciding_order() -> None:
    errors = of_record("other.lan", "A", "x", -1)
    assert [error.field for error in errors] == ["name", "content", "ttl"]


def test_a_cname_bears_records_of_other_names() -> None:
    alias = StoredRecord("ftp.corp.lan", "CNAME", "a.example")
    address = StoredRecord.of(*ADDRESS)
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
    for error in of_record(name, record_type, content, ttl):
        assert error.field in {"name", "type", "content", "ttl"}
        assert len(error.message) < 400
