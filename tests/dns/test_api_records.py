"""Records of a zone over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from dns.services.zones import zones
from tests.api_client import Api
from tests.dns.bodies import created, record, trail, zone
from tests.resource_contract import Body, Fault, ResourceContract

pytestmark = pytest.mark.django_db
ZONES = "/api/dns/zones"


BROKEN: list[tuple[Body, str, str]] = [
    ({"name": ""}, "name", "empty"),
    ({"name": "a.*.svc.test"}, "name", "wildcard"),
    ({"name": "www.other.test"}, "name", "not inside the zone"),
    ({"name": "wwwsvc.test"}, "name", "not inside the zone"),
    ({"name": "test"}, "name", "not inside the zone"),
    ({"name": "*.test"}, "name", "not inside the zone"),
    ({"name": "a b.svc.test"}, "name", "letters, digits"),
    ({"type": ""}, "type", "A, AAAA or CNAME"),
    ({"type": "a"}, "type", "A, AAAA or CNAME"),
    ({"type": "TXT"}, "type", "A, AAAA or CNAME"),
    ({"content": ""}, "content", "IPv4"),
    ({"content": "2001:db8::1"}, "content", "IPv4"),
    ({"content": "::ffff:10.0.0.1"}, "content", "IPv4"),
    ({"content": "010.0.0.1"}, "content", "IPv4"),
    ({"type": "AAAA"}, "content", "IPv6"),
    ({"type": "AAAA", "content": "::ffff:10.0.0.1"}, "content", "IPv4-mapped"),
    ({"type": "AAAA", "content": "fe80::1%eth0"}, "content", "IPv6"),
    ({"type": "CNAME", "content": ""}, "content", "domain name"),
    ({"type": "CNAME", "content": "*.svc.test"}, "content", "wildcards"),
    ({"type": "CNAME", "name": "svc.test", "content": "a.test"}, "type", "apex"),
    ({"ttl": -1}, "ttl", "2147483647"),
    ({"ttl": 2**31}, "ttl", "2147483647"),
    ({"name": "a\u0000.svc.test"}, "name", ""),
]


class TestRecords(ResourceContract):
    required = ("name", "type", "content", "ttl")
    created_codes = ("dns.zone.record.create",)
    deleted_codes = ("dns.zone.record.delete",)
    updates = {"ttl": 60}

    def make_path(self) -> str:
        made = zones.create({"name": "Services", "domain": "svc.test"})
        return f"{ZONES}/{made.pk}/records"

    def body(self, number: int = 1) -> Body:
        return record(name=f"www{number}.svc.test")

    def refused(self) -> Iterator[Fault]:
        for changes, field, text in BROKEN:
            yield changes, 422, field, text


@pytest.fixture
def path(owner: Api) -> str:
    """Path of the records of the zone svc.test."""
    return f"{ZONES}/{created(owner.post(ZONES, zone()))['id']}/records"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"name": "svc.test"},
        {"name": "*.svc.test"},
        {"name": "*.a.Svc.Test."},
        {"name": "_srv._tcp.svc.test"},
        {"name": "münchen.svc.test"},
        {"type": "AAAA", "content": "2001:DB8:0::1"},
        {"type": "CNAME", "content": "Other.Example."},
        {"type": "CNAME", "name": "*.svc.test", "content": "svc.test"},
        {"ttl": 0},
        {"ttl": 2**31 - 1},
    ],
)
def test_record_is_returned_as_sent(
    owner: Api, path: str, changes: dict[str, Any]
) -> None:
    body = record(**changes)
    made = created(owner.post(path, body))
    assert made == {**body, "id": made["id"]}
    assert owner.get(path).json == [made]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"name": "WWW.svc.test.", "ttl": 60}),
        (
            {"type": "AAAA", "content": "2001:db8::1"},
            {"type": "AAAA", "content": "2001:DB8:0:0::1"},
        ),
        (
            {"type": "CNAME", "content": "a.test"},
            {"type": "CNAME", "content": "A.test."},
        ),
    ],
)
def test_identical_record_is_409_in_any_spelling(
    owner: Api, path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    created(owner.post(path, record(**first)))
    answer = owner.post(path, record(**second))
    assert answer.status == 409
    assert "already exists" in answer.fields["content"]
    assert len(owner.get(path).json) == 1


CNAME = {"type": "CNAME", "content": "a.test"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, CNAME),
        (CNAME, {}),
        (CNAME, {"type": "AAAA", "content": "2001:db8::1"}),
        (CNAME, {"type": "CNAME", "content": "b.test"}),
        (CNAME, {"name": "WWW.SVC.test"}),
    ],
)
def test_cname_is_alone_at_its_name(
    owner: Api, path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    created(owner.post(path, record(**first)))
    answer = owner.post(path, record(**second))
    assert answer.status == 409
    assert list(answer.fields) == ["name"]
    assert len(owner.get(path).json) == 1


def test_addresses_share_a_name(owner: Api, path: str) -> None:
    for content, type_ in (("10.0.0.1", "A"), ("10.0.0.2", "A"), ("::2", "AAAA")):
        created(owner.post(path, record(type=type_, content=content)))
    assert len(owner.get(path).json) == 3


def test_same_record_may_stand_in_two_zones(owner: Api, path: str) -> None:
    created(owner.post(path, record(name="www.sub.svc.test")))
    other = created(owner.post(ZONES, zone(domain="sub.svc.test")))["id"]
    answer = owner.post(f"{ZONES}/{other}/records", record(name="www.sub.svc.test"))
    assert answer.status == 200


def test_put_changes_what_is_given(owner: Api, path: str) -> None:
    made = created(owner.post(path, record()))
    mine = f"{path}/{made['id']}"
    assert created(owner.put(mine, {"ttl": None, "content": "10.9.9.9"})) == {
        **made,
        "content": "10.9.9.9",
    }
    changed = {"type": "CNAME", "content": "a.test", "name": "new.svc.test"}
    assert created(owner.put(mine, changed)) == made | changed


def test_put_does_not_clash_with_itself(owner: Api, path: str) -> None:
    mine = f"{path}/{created(owner.post(path, record(**CNAME)))['id']}"
    assert owner.put(mine, {"content": "b.test"}).status == 200


def test_put_obeys_the_rules(owner: Api, path: str) -> None:
    created(owner.post(path, record()))
    made = created(owner.post(path, record(name="b.svc.test")))
    mine = f"{path}/{made['id']}"
    for body, status, field in (
        ({"name": "www.svc.test"}, 409, "content"),
        ({"name": "www.svc.test", **CNAME}, 409, "name"),
        ({"type": "AAAA"}, 422, "content"),
        ({"ttl": -1}, 422, "ttl"),
        ({"name": None}, 422, "name"),
        ({"name": "b.other.test"}, 422, "name"),
    ):
        answer = owner.put(mine, body)
        assert answer.status == status
        assert list(answer.fields) == [field]
    assert created(owner.get(mine)) == made


def test_record_of_another_zone_is_404(owner: Api, path: str) -> None:
    made = created(owner.post(path, record()))
    other = created(owner.post(ZONES, zone(domain="other.test")))["id"]
    for method in ("GET", "PUT", "DELETE"):
        answer = owner.call(method, f"{ZONES}/{other}/records/{made['id']}", {})
        assert answer.status == 404
        assert "record" in answer.json["message"]
    assert created(owner.get(f"{path}/{made['id']}")) == made


def test_events_tell_what_happened(owner: Api, path: str) -> None:
    made = created(owner.post(path, record()))
    mine = f"{path}/{made['id']}"
    created(owner.put(mine, made))
    created(owner.put(mine, {"ttl": 3600}))
    created(owner.delete(mine))
    meta = {
        "name": "www.svc.test",
        "type": "A",
        "content": "10.0.0.1",
        "ttl": "300",
        "zone_id": path.split("/")[4],
        "zone_name": "Services",
    }
    events = trail(owner, "dns.zone.record")
    assert [(e["activity_code"], e["meta"]) for e in events] == [
        ("dns.zone.record.create", meta),
        ("dns.zone.record.update", {**meta, "ttl": "3600"}),
        ("dns.zone.record.delete", {**meta, "ttl": "3600"}),
    ]
    assert {event["target_id"] for event in events} == {made["id"]}


def test_change_of_spelling_is_a_change(owner: Api, path: str) -> None:
    made = created(owner.post(path, record()))
    answer = created(owner.put(f"{path}/{made['id']}", {"name": "WWW.svc.test"}))
    assert answer["name"] == "WWW.svc.test"
    assert len(trail(owner, "dns.zone.record.update")) == 1
