"""A document may give a name in use to something else, whatever must go for that first."""

from pathlib import Path
from typing import Final

import pytest
import yaml
from django.core.management import CommandError, call_command

from meshmgmt.access.models import Route
from tests.access import bodies
from tests.api_client import Api
from tests.configuration.test_documents import document
from tests.dns.bodies import record, zone
from tests.factories import numbered
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def old(api: Api) -> Body:
    """A document with one zone of one record."""
    made = ok(api.post("/api/dns/zones", zone(domain="old.test")))
    wanted = record(name="www.old.test", type="AAAA", content="fd00::5")
    ok(api.post(f"/api/dns/zones/{made['id']}/records", wanted))
    return document()


def applied(text: str, folder: Path) -> Body:
    file = folder / "config.yaml"
    file.write_text(text)
    call_command("config", "apply", str(file))
    return document()


def written(found: Body, folder: Path) -> Body:
    return applied(yaml.safe_dump(found), folder)


CNAME: Final = {"name": "www.old.test", "type": "CNAME", "content": "a.test"}


@pytest.mark.parametrize(
    "change",
    [CNAME, {"name": "WWW.old.test"}, {"content": "FD00:0::5"}, {"ttl": 60}],
    ids=["type", "name", "content", "ttl"],
)
def test_a_record_takes_the_place_of_another(old: Body, change: Body, tmp_path: Path):
    old["zones"][0]["records"][0] |= change
    [found] = written(old, tmp_path)["zones"][0]["records"]
    assert found == {**found, **change}


def test_a_zone_is_known_by_its_domain_in_any_spelling(old: Body, tmp_path: Path):
    old["zones"][0] |= {"domain": "Old.Test", "enabled": False}
    [found] = written(old, tmp_path)["zones"]
    assert found["domain"].lower() == "old.test"
    assert not found["enabled"]


def test_peers_and_a_zone_change_domains(old: Body, tmp_path: Path):
    peers = old["settings"]["dns_domain"]
    old["settings"]["dns_domain"] = "old.test"
    old["zones"][0] |= {"domain": peers, "records": []}
    found = written(old, tmp_path)
    assert found["settings"]["dns_domain"] == "old.test"
    assert [zone["domain"] for zone in found["zones"]] == [peers]


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\ngroups: [{name: kept}]\ngroups: [{name: other}]",
        "version: 1\ngroups: [{name: kept, name: other}]",
        '{"version": 1, "groups": [{"name": "kept"}], "groups": []}',
    ],
)
def test_what_stands_there_twice_is_refused(old: Body, text: str, tmp_path: Path):
    with pytest.raises(CommandError, match="stands twice"):
        applied(text, tmp_path)
    assert document() == old


def test_a_name_like_a_date_is_a_name(api: Api, tmp_path: Path):
    found = applied("version: 1\ngroups: [{name: 2026-01-01}]", tmp_path)
    assert [group["name"] for group in found["groups"]] == ["2026-01-01"]


def test_keys_inside_of_values_come_in_one_order(api: Api):
    location = {"country_code": "DE", "city_name": "Berlin"}
    checks = {"geo_location_check": {"locations": [location], "action": "allow"}}
    body = {"name": "berlin", "description": "", "checks": checks}
    ok(api.post("/api/posture-checks", body))
    [found] = document()["posture_checks"]
    check = found["checks"]["geo_location_check"]
    assert list(check) == ["action", "locations"]
    assert list(check["locations"][0]) == ["city_name", "country_code"]


@pytest.fixture
def routes(api: Api) -> list[Body]:
    """The entries of two routes that back each other up."""
    for number in (1, 2):
        ok(api.post("/api/routes", bodies.route(peer=numbered(number).pk)))
    found: list[Body] = document()["routes"]
    return found


def routes_of(entries: list[Body], folder: Path) -> dict[str, str]:
    """Apply routes; return the ids of those that there are by their peers' names."""
    written({"version": 1, "routes": entries}, folder)
    return dict(Route.objects.values_list("peer__name", "pk"))


@pytest.mark.parametrize("kept", [0, 1])
def test_either_of_two_routes_that_share_a_name_goes(
    routes: list[Body], kept: int, tmp_path: Path
):
    before = dict(Route.objects.values_list("peer__name", "pk"))
    name = f"peer no. {kept + 1}"
    assert routes_of([routes[kept]], tmp_path) == {name: before[name]}


def test_routes_that_share_a_name_stay_in_any_order(routes: list[Body], tmp_path: Path):
    before = dict(Route.objects.values_list("peer__name", "pk"))
    assert routes_of(routes[::-1], tmp_path) == before
    changed = [{**route, "metric": 7} for route in routes[::-1]]
    assert routes_of(changed, tmp_path) == before
    assert {route["metric"] for route in document()["routes"]} == {7}


def test_a_route_comes_back_before_the_one_that_it_is_backed_up_by(
    routes: list[Body], api: Api, tmp_path: Path
):
    first = Route.objects.order_by("pk")[0]
    ok(api.delete(f"/api/routes/{first.pk}"))
    again = ok(api.post("/api/routes", bodies.route(peer=first.peer_id)))["id"]
    assert routes_of(routes[:1], tmp_path) == {"peer no. 1": again}


def test_the_one_of_several_policies_that_differs_is_changed(api: Api, tmp_path: Path):
    ids = [
        ok(api.post("/api/policies", bodies.policy(description=text)))["id"]
        for text in ("a", "b", "c")
    ]
    [one, _, three] = (p for p in document()["policies"] if p["name"] == "work")
    written({"version": 1, "policies": [three, {**one, "enabled": False}]}, tmp_path)
    found = {row["id"]: row["enabled"] for row in ok(api.get("/api/policies"))}
    assert found == {ids[0]: False, ids[2]: True}
