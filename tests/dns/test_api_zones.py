"""Zones over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from dns.models import Zone
from dns.services.zones import zones
from meshmgmt.accounts.models import Account
from tests.api_client import Api
from tests.dns.bodies import created, record, trail, zone
from tests.factories import group_id
from tests.resource_contract import Body, Fault, ResourceContract

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
]


class TestZones(ResourceContract):
    path = PATH
    required = ("name", "domain", "enable_search_domain", "distribution_groups")
    created_codes = ("dns.zone.create",)
    deleted_codes = ("dns.zone.delete",)
    updates = {"name": "another name"}
    refused_on_put = False  # where the domain may not change
    most_queries = 4

    def body(self, number: int = 1) -> Body:
        return zone(domain=f"svc{number}.test")

    def refused(self) -> Iterator[Fault]:
        for changes, field, text in BROKEN:
            yield changes, 422, field, text


def test_created_zone_is_returned_as_it_will_be_read(owner: Api) -> None:
    groups = [group_id(name) for name in ("b", "a")]
    body = zone(domain="Svc.Test.", distribution_groups=groups)
    made = created(owner.post(PATH, body))
    assert made == {**body, "id": made["id"], "records": []}


def test_enabled_is_true_when_absent(owner: Api) -> None:
    body = zone()
    del body["enabled"]
    assert created(owner.post(PATH, body))["enabled"] is True
    body["domain"] = "other.test"
    assert created(owner.post(PATH, {**body, "enabled": None}))["enabled"] is True


@pytest.mark.parametrize("spelling", ["svc.test", "SVC.test", "svc.test."])
def test_domain_is_unique_in_any_spelling(owner: Api, spelling: str) -> None:
    created(owner.post(PATH, zone()))
    answer = owner.post(PATH, zone(domain=spelling))
    assert answer.status == 409
    assert "already exists" in answer.fields["domain"]


def test_international_domain_is_the_same_in_both_forms(owner: Api) -> None:
    made = created(owner.post(PATH, zone(domain="München.de")))
    assert made["domain"] == "München.de"
    assert owner.post(PATH, zone(domain="xn--mnchen-3ya.de")).status == 409


def test_names_of_zones_may_repeat(owner: Api) -> None:
    created(owner.post(PATH, zone()))
    assert owner.post(PATH, zone(domain="other.test")).status == 200


def test_domain_of_the_peers_is_refused(owner: Api) -> None:
    domain = Account.objects.get().dns_domain
    answer = owner.post(PATH, zone(domain=f"{domain.upper()}."))
    assert answer.status == 422
    assert "peers" in answer.fields["domain"]
    assert owner.post(PATH, zone(domain=f"sub.{domain}")).status == 200


def test_very_long_international_domain_is_stored(owner: Api) -> None:
    """Its canonical form is longer than an index entry of PostgreSQL may be."""
    domain = ".".join(["㋿a"] * 85)[:255].rstrip(".")
    created(owner.post(PATH, zone(domain=domain)))
    assert owner.post(PATH, zone(domain=domain.upper())).status == 409


def test_null_is_absent_but_for_lists(owner: Api) -> None:
    facts = {"distribution_groups": [group_id("a")], "enable_search_domain": True}
    made = created(owner.post(PATH, zone(enabled=False, **facts)))
    path = f"{PATH}/{made['id']}"
    made["name"] = "New"
    assert created(owner.put(path, {"enabled": None, "name": "New"})) == made
    made["distribution_groups"] = []
    assert created(owner.put(path, {"distribution_groups": None})) == made


def test_put_changes_what_is_given(owner: Api) -> None:
    made = created(owner.post(PATH, zone()))
    facts = {"distribution_groups": [group_id("a")], "enable_search_domain": True}
    body = zone(name="Other", enabled=False, **facts)
    answer = created(owner.put(f"{PATH}/{made['id']}", body))
    assert answer == {**body, "id": made["id"], "records": []}


def test_put_refuses_another_domain(owner: Api) -> None:
    made = created(owner.post(PATH, zone()))
    answer = owner.put(f"{PATH}/{made['id']}", {"domain": "other.test"})
    assert answer.status == 422
    assert "cannot be changed" in answer.fields["domain"]
    assert owner.put(f"{PATH}/{made['id']}", {"domain": ""}).status == 422


def test_put_keeps_the_spelling_of_the_same_domain(owner: Api) -> None:
    made = created(owner.post(PATH, zone()))
    path = f"{PATH}/{made['id']}"
    assert created(owner.put(path, {"domain": "SVC.test."}))["domain"] == "SVC.test."
    assert created(owner.get(path))["domain"] == "SVC.test."


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"name": ""}, 422, "name"),
        ({"name": None}, 422, "name"),
        ({"enabled": 1}, 400, "enabled"),
        ({"distribution_groups": ["0" * 20]}, 422, "distribution_groups[0]"),
    ],
)
def test_bad_change_changes_nothing(
    owner: Api, body: dict[str, Any], status: int, field: str
) -> None:
    made = created(owner.post(PATH, zone()))
    path = f"{PATH}/{made['id']}"
    answer = owner.put(path, body)
    assert answer.status == status
    assert list(answer.fields) == [field]
    assert created(owner.get(path)) == made
    assert len(trail(owner, "dns.zone")) == 1


def test_records_in_a_zone_body_change_nothing(owner: Api) -> None:
    made = created(owner.post(PATH, zone(records=[record()])))
    assert made["records"] == []
    path = f"{PATH}/{made['id']}"
    kept = created(owner.post(f"{path}/records", record()))
    again = created(owner.put(path, {**made, "records": []}))
    assert again["records"] == [kept]


def test_zone_body_may_be_larger_than_others(owner: Api) -> None:
    made = created(owner.post(PATH, zone()))
    path = f"{PATH}/{made['id']}"
    padding = ["x" * 1000] * 2000
    assert owner.put(path, {**made, "records": padding}).status == 200
    assert owner.post(PATH, zone(records=padding)).status == 413
    huge = b'{"x": "' + b"y" * (16 * 1024 * 1024) + b'"}'
    assert owner.put(path, huge).status == 413


def test_zones_show_their_records_in_order(owner: Api) -> None:
    paths = [
        f"{PATH}/{created(owner.post(PATH, zone(domain=d)))['id']}/records"
        for d in ("a.test", "b.test")
    ]
    made = [
        created(owner.post(path, record(name=f"{name}.{domain}")))
        for path, domain in zip(paths, ("a.test", "b.test"), strict=True)
        for name in ("z", "a")
    ]
    shown = owner.get(PATH).json
    assert [row for found in shown for row in found["records"]] == made


def test_delete_removes_records_first_with_their_events(owner: Api) -> None:
    group = group_id("a")
    made = created(owner.post(PATH, zone(distribution_groups=[group])))
    path = f"{PATH}/{made['id']}"
    records = [
        created(owner.post(f"{path}/records", record(content=f"10.0.0.{n}")))
        for n in (1, 2)
    ]
    assert created(owner.delete(path)) == {}
    assert owner.get(path).status == 404
    events = trail(owner, "dns.zone")[3:]
    assert [(e["activity_code"], e["target_id"]) for e in events] == [
        ("dns.zone.record.delete", records[0]["id"]),
        ("dns.zone.record.delete", records[1]["id"]),
        ("dns.zone.delete", made["id"]),
    ]
    assert events[-1]["meta"] == {"name": "Services", "domain": "svc.test"}


@pytest.mark.parametrize("count", [1, 20])
def test_delete_needs_few_queries_whatever_the_records(
    owner: Api, count: int, django_assert_max_num_queries: Any
) -> None:
    made = created(owner.post(PATH, zone()))
    for number in range(count):
        path = f"{PATH}/{made['id']}/records"
        created(owner.post(path, record(content=f"10.0.0.{number + 1}")))
    with django_assert_max_num_queries(19):
        zones.delete(made["id"])


def test_events_tell_what_happened(owner: Api) -> None:
    groups = [group_id(name) for name in ("a", "b")]
    made = created(owner.post(PATH, zone(distribution_groups=groups)))
    path = f"{PATH}/{made['id']}"
    created(owner.put(path, made))
    created(owner.put(path, {"name": "New"}))
    created(owner.put(path, {"distribution_groups": groups[:1]}))
    events = trail(owner, "dns.zone")
    assert [(e["activity_code"], e["meta"]["name"]) for e in events] == [
        ("dns.zone.create", "Services"),
        ("dns.zone.update", "New"),
        ("dns.zone.update", "New"),
    ]


def test_audited_rows_cannot_be_changed_in_bulk() -> None:
    with pytest.raises(TypeError, match="not audited"):
        Zone.objects.update(name="x")
