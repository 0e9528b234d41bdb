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
Written = tuple[str, str, str]
ADDRESS = ("www.corp.lan", "A", "10.0.0.1")
ALIAS = ("www.corp.lan", "CNAME", "a.example")


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


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            ("other.lan", "A", "x", -1),
            {
                "name": "Record name 'other.lan' is not inside the zone 'corp.lan'",
                "content": "Record content 'x': an A record needs an IPv4 address",
                "ttl": "The ttl must lie between 0 and 2147483647 seconds",
            },
        ),
        (
            ("", "TXT", "x", 0),
            {
                "name": "Record name '' is not valid: the name is empty",
                "type": "The record type must be A, AAAA or CNAME",
            },
        ),
        (
            ("corp.lan", "CNAME", "a.example", 0),
            {"type": "A CNAME cannot stand at the apex of its zone"},
        ),
    ],
)
def test_record_errors_come_in_deciding_order(
    record: tuple[str, str, str, int], said: dict[str, str]
) -> None:
    errors = [(error.field, error.message) for error in of_record(*record)]
    assert errors == list(said.items())


@pytest.mark.parametrize(
    ("candidate", "others", "said"),
    [
        (ALIAS, [("ftp.corp.lan", "A", "10.0.0.1")], []),
        (ADDRESS, [("ftp.corp.lan", "CNAME", "a.example")], []),
        (ADDRESS, [ADDRESS], ["The record 'www.corp.lan' A 10.0.0.1 already exists"]),
        (
            ALIAS,
            [ADDRESS, ("www.corp.lan", "AAAA", "::2")],
            [
                (
                    "A CNAME must be alone at its name; 'www.corp.lan' already has a"
                    " record of type A"
                )
            ],
        ),
        (ADDRESS, [ALIAS], ["'www.corp.lan' already has a CNAME, which must be alone"]),
    ],
)
def test_records_clash_at_one_name_alone(
    candidate: Written, others: list[Written], said: list[str]
) -> None:
    stored = [StoredRecord.of(*other) for other in others]
    found = record_conflicts(StoredRecord.of(*candidate), stored)
    assert [error.message for error in found] == said


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
