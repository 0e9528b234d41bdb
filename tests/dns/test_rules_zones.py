"""Rules of zones and records."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.rules.zones import record_errors, zone_errors
from meshmgmt.core.errors import FieldError


def of_record(name: str, type_: str, content: str, ttl: int) -> list[FieldError]:
    record = {"name": name, "type": type_, "content": content, "ttl": ttl}
    return record_errors(record, zone_domain="Corp.lan")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "z"}, []),
        ({"name": "z" * 255}, []),
        ({"name": ""}, ["The zone name must have 1 to 255 characters"]),
        ({"name": "z" * 256}, ["The zone name must have 1 to 255 characters"]),
        ({"domain": "-"}, ["Zone domain '-' is not valid: the label '-' starts with"]),
        (
            {"domain": "mesh.lan."},
            ["Zone domain 'mesh.lan.' is the domain of the peers"],
        ),
        ({"domain": "Taken.lan"}, ["A zone for the domain 'Taken.lan' already exists"]),
        ({"distribution_groups": ["g", "h"]}, ["group 'h' was not found"]),
    ],
)
def test_zone_errors_say_what_is_wrong(change: dict[str, Any], said: list[str]):
    zone = {"name": "z", "domain": "corp.lan", "distribution_groups": ["g"], **change}
    found = zone_errors(
        zone,
        known_groups={"g"},
        peer_domain="Mesh.lan",
        domain_taken=zone["domain"] == "Taken.lan",
        stored_domain=None,
    )
    assert len(found) == len(said)
    for error, text in zip(found, said, strict=True):
        assert error.message.startswith(text)


def test_the_domain_of_a_zone_stays():
    zone = {"name": "z", "domain": "corp.lan.", "distribution_groups": []}
    facts: Any = {"known_groups": (), "peer_domain": "", "domain_taken": True}
    assert zone_errors(zone, **facts, stored_domain="Corp.lan") == []
    [error] = zone_errors(zone, **facts, stored_domain="other.lan")
    assert error.message == "The domain of a zone cannot be changed"


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
):
    errors = [(error.field, error.message) for error in of_record(*record)]
    assert errors == list(said.items())


@given(
    st.text(max_size=40),
    st.sampled_from(["A", "AAAA", "CNAME", "", "x"]),
    st.text(max_size=40),
    st.integers(),
)
def test_no_record_crashes_the_rules(
    name: str, record_type: str, content: str, ttl: int
):
    for error in of_record(name, record_type, content, ttl):
        assert error.field in {"name", "type", "content", "ttl"}
        assert len(error.message) < 400
