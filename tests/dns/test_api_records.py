"""Records of a zone over HTTP."""

from collections.abc import Iterator

import pytest

from dns.models import Zone
from dns.services.zones import zones
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.resource_contract import (
    TAKEN,
    Answered,
    Body,
    Change,
    Fault,
    ResourceContract,
    ok,
)

pytestmark = pytest.mark.django_db
ZONES = "/api/dns/zones"
CNAME = {"type": "CNAME", "content": "a.test"}


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


AS_SENT: list[Body] = [
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

    def answered(self) -> Iterator[Answered]:
        for changes in AS_SENT:
            yield record(**changes), {}

    def told(self, made: Body) -> dict[str, Body]:
        told = self.about(name="www1.svc.test")
        return {"dns.zone.record.create": told, "dns.zone.record.delete": told}

    def changes(self, made: Body) -> Iterator[Change]:
        about = self.about(name="www9.svc.test", content="10.9.9.9")
        told = {"dns.zone.record.update": about}
        yield {"ttl": None, "content": "10.9.9.9"}, {"ttl": 300}, told
        for changes in (CNAME | {"name": "new.svc.test"}, {"content": "b.test"}):
            yield changes, {}, ["dns.zone.record.update"]
        yield {"name": "NEW.svc.test"}, {}, ["dns.zone.record.update"]

    @staticmethod
    def about(**changes: str) -> Body:
        zone = {"zone_id": Zone.objects.get().pk, "zone_name": "Services"}
        return record() | zone | {"ttl": "300"} | changes

    def refused(self) -> Iterator[Fault]:
        for changes, field, text in BROKEN:
            yield changes, 422, field, text
        taken = {"name": f"www{TAKEN}.svc.test"}
        yield taken, 409, "content", "already exists"
        yield taken | CNAME, 409, "name", "A CNAME must be alone at its name"
        yield {"name": None}, 422, "name", "empty"


@pytest.fixture
def path(path: str) -> str:
    """Path of the records of the zone svc.test."""
    return f"{path}/records"


AGAIN = ("content", "The record 'www.svc.test' {} already exists")
ALIAS_BESIDE = (
    "name",
    "A CNAME must be alone at its name; 'www.svc.test' already has a record of type {}",
)
BESIDE_ALIAS = ("name", "'www.svc.test' already has a CNAME, which must be alone")
AAAA = {"type": "AAAA", "content": "2001:db8::1"}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"name": "WWW.svc.test.", "ttl": 60}, AGAIN),
        (AAAA, AAAA | {"content": "2001:DB8:0:0::1"}, AGAIN),
        (CNAME, CNAME | {"content": "A.test."}, AGAIN),
        ({}, CNAME, ALIAS_BESIDE),
        (CNAME, CNAME | {"content": "b.test"}, ALIAS_BESIDE),
        (CNAME, {}, BESIDE_ALIAS),
        (CNAME, AAAA, BESIDE_ALIAS),
        (CNAME, {"name": "WWW.SVC.test"}, BESIDE_ALIAS),
    ],
)
def test_clash_with_a_record_is_409_in_any_spelling(
    api: Api, path: str, first: Body, second: Body, said: tuple[str, str]
):
    made = ok(api.post(path, record(**first)))
    answer = api.post(path, record(**second))
    assert answer.status == 409
    field, text = said
    held = made["type"] if said is ALIAS_BESIDE else f"{made['type']} {made['content']}"
    assert answer.fields == {field: text.format(held)}
    assert api.get(path).json == [made]


def test_addresses_share_a_name_and_aliases_stand_beside_it(api: Api, path: str):
    ok(api.post(path, record(name="ftp.svc.test", **CNAME)))
    for content, type_ in (("10.0.0.1", "A"), ("10.0.0.2", "A"), ("::2", "AAAA")):
        ok(api.post(path, record(type=type_, content=content)))
    assert len(api.get(path).json) == 4


def test_same_record_may_stand_in_two_zones(api: Api, path: str):
    ok(api.post(path, record(name="www.sub.svc.test")))
    other = ok(api.post(ZONES, zone(domain="sub.svc.test")))["id"]
    answer = api.post(f"{ZONES}/{other}/records", record(name="www.sub.svc.test"))
    assert answer.status == 200


def test_record_of_another_zone_is_404(api: Api, path: str):
    made = ok(api.post(path, record()))
    other = ok(api.post(ZONES, zone(domain="other.test")))["id"]
    for method in ("GET", "PUT", "DELETE"):
        answer = api.call(method, f"{ZONES}/{other}/records/{made['id']}", {})
        assert "record" in answer.refused(404).message
    assert ok(api.get(f"{path}/{made['id']}")) == made
