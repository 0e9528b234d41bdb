"""Zones over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from dns.models import Zone
from dns.services.zones import zones
from meshmgmt.accounts.models import Account
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.factories import Trail, group_id
from tests.resource_contract import (
    ABSENT,
    Answered,
    Body,
    Change,
    Fault,
    ResourceContract,
    ok,
    present,
)

pytestmark = pytest.mark.django_db
PATH = "/api/dns/zones"


BROKEN: list[tuple[Body, str, str]] = [
    ({"name": ""}, "name", "1 to 255"),
    ({"name": "é" * 256}, "name", "1 to 255"),
    ({"name": "a\u0000"}, "name", ""),
    ({"domain": ""}, "domain", "empty"),
    ({"domain": "a\0.internal"}, "domain", ""),
    ({"domain": "*.svc.test"}, "domain", "wildcards"),
    ({"domain": "a..b"}, "domain", "label is empty"),
    ({"domain": f"{'a' * 64}.test"}, "domain", "63"),
    ({"distribution_groups": [""]}, "distribution_groups[0]", "not found"),
    ({"distribution_groups": ["v" * 20]}, "distribution_groups[0]", "not found"),
    ({"name": None}, "name", ""),
]


class TestZones(ResourceContract):
    path = PATH
    required = ("name", "domain", "enable_search_domain", "distribution_groups")
    created_codes = ("dns.zone.create",)
    deleted_codes = ("dns.zone.delete",)
    updates = {"name": "another name"}
    fixed = frozenset({"domain"})  # which has rules of its own
    most_queries = 4

    def body(self, number: int = 1) -> Body:
        return zone(domain=f"svc{number}.test")

    def answered(self) -> Iterator[Answered]:
        groups = [group_id(name) for name in ("b", "a")]
        whole = zone(domain="Svc.Test.", distribution_groups=groups)
        yield whole, {"records": []}
        yield zone(records=[record()]), {"records": []}
        for enabled in (None, ABSENT):
            yield present(zone(enabled=enabled)), {"enabled": True, "records": []}

    def told(self, made: Body) -> dict[str, Body]:
        told = {"name": "Services", "domain": "svc1.test"}
        return {"dns.zone.create": told, "dns.zone.delete": told}

    def changes(self, made: Body) -> Iterator[Change]:
        facts = {"distribution_groups": [group_id("a")], "enable_search_domain": True}
        told = {"dns.zone.update": {"name": "New", "domain": "svc9.test"}}
        yield {"name": "New", "enabled": False, **facts}, {}, told
        yield {"enabled": None}, {"enabled": False}, []
        yield {"distribution_groups": None}, {"distribution_groups": []}, told
        yield {"domain": "SVC9.test."}, {}, ["dns.zone.update"]

    def refused(self) -> Iterator[Fault]:
        for changes, field, text in BROKEN:
            yield changes, 422, field, text
        yield {"enabled": 1}, 400, "enabled", "boolean"


# Its canonical form is longer than an index entry of PostgreSQL may be.
LONG = ".".join(["㋿a"] * 85)[:255].rstrip(".")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("svc.test", again) for again in ("svc.test", "SVC.test", "svc.test.")),
        ("München.de", "xn--mnchen-3ya.de"),
        (LONG, LONG.upper()),
    ],
)
def test_domain_is_unique_in_any_spelling_but_names_repeat(
    api: Api, first: str, second: str
):
    assert ok(api.post(PATH, zone(domain=first)))["domain"] == first
    answer = api.post(PATH, zone(domain=second))
    assert "already exists" in answer.refused(409).fields["domain"]
    assert api.post(PATH, zone(domain="other.test")).status == 200


def test_domain_of_the_peers_is_refused(api: Api):
    domain = Account.objects.get().dns_domain
    answer = api.post(PATH, zone(domain=f"{domain.upper()}."))
    assert "peers" in answer.refused(422).fields["domain"]
    for other in (f"sub.{domain}", domain.partition(".")[2]):
        assert api.post(PATH, zone(domain=other, name="日" * 255)).status == 200


def test_put_refuses_another_domain(api: Api):
    made = ok(api.post(PATH, zone()))
    answer = api.put(f"{PATH}/{made['id']}", {"domain": "other.test"})
    assert "cannot be changed" in answer.refused(422).fields["domain"]
    assert api.put(f"{PATH}/{made['id']}", {"domain": ""}).status == 422


def test_records_in_a_zone_body_change_nothing(api: Api):
    made = ok(api.post(PATH, zone()))
    path = f"{PATH}/{made['id']}"
    kept = ok(api.post(f"{path}/records", record()))
    assert ok(api.put(path, {**made, "records": []}))["records"] == [kept]


def test_zone_body_may_be_larger_than_others(api: Api):
    made = ok(api.post(PATH, zone()))
    path = f"{PATH}/{made['id']}"
    padding = ["x" * 1000] * 2000
    assert api.put(path, {**made, "records": padding}).status == 200
    assert api.post(PATH, zone(records=padding)).status == 413
    huge = b'{"x": "' + b"y" * (16 * 1024 * 1024) + b'"}'
    assert api.put(path, huge).status == 413


def test_zones_show_their_records_in_order(api: Api):
    made = []
    for domain in ("a.test", "b.test"):
        path = f"{PATH}/{ok(api.post(PATH, zone(domain=domain)))['id']}/records"
        made += [ok(api.post(path, record(name=f"{name}.{domain}"))) for name in "za"]
    shown = api.get(PATH).json
    assert [row for found in shown for row in found["records"]] == made


def test_delete_removes_records_first_with_their_events(api: Api):
    group = group_id("a")
    made = ok(api.post(PATH, zone(distribution_groups=[group])))
    path = f"{PATH}/{made['id']}"
    records = [
        ok(api.post(f"{path}/records", record(content=f"10.0.0.{n}"))) for n in (1, 2)
    ]
    trail = Trail()
    assert ok(api.delete(path)) == {}
    assert api.get(path).status == 404
    gone = [("dns.zone.record.delete", each["id"]) for each in records]
    assert trail.targets == [*gone, ("dns.zone.delete", made["id"])]
    assert trail.events[-1].meta == {"name": "Services", "domain": "svc.test"}


@pytest.mark.parametrize("count", [1, 20])
def test_delete_needs_few_queries_whatever_the_records(
    api: Api, count: int, django_assert_max_num_queries: Any
):
    made = ok(api.post(PATH, zone()))
    for number in range(count):
        path = f"{PATH}/{made['id']}/records"
        ok(api.post(path, record(content=f"10.0.0.{number + 1}")))
    with django_assert_max_num_queries(19):
        zones.delete(made["id"])


def test_audited_rows_cannot_be_changed_in_bulk():
    with pytest.raises(TypeError, match="not audited"):
        Zone.objects.update(name="x")
