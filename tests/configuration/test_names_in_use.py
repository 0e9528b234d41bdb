"""A document may give a name in use to something else, whatever must go for that first."""

from pathlib import Path
from typing import Final

import pytest
import yaml
from django.core.management import CommandError, call_command

from meshmgmt.configuration.document import configuration
from meshmgmt.core.transactions import read_snapshot
from tests.api_client import Api
from tests.dns.bodies import record, zone
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def old(api: Api) -> Body:
    """A document with one zone of one record."""
    made = ok(api.post("/api/dns/zones", zone(domain="old.test")))
    wanted = record(name="www.old.test", type="AAAA", content="fd00::5")
    ok(api.post(f"/api/dns/zones/{made['id']}/records", wanted))
    return document()


def document() -> Body:
    with read_snapshot():
        return configuration()


def applied(text: str, folder: Path) -> Body:
    file = folder / "config.yaml"
    file.write_text(text)
    call_command("config", "apply", str(file))
    return document()


def written(found: Body, folder: Path) -> Body:
    return applied(yaml.safe_dump(found), folder)


CNAME: Final = {"name": "www.old.test", "type": "CNAME", "content": "a.test"}


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (CNAME, CNAME),
        ({"name": "WWW.old.test"}, {"name": "WWW.old.test"}),
        ({"content": "FD00:0::5"}, {"content": "FD00:0::5"}),
        ({"ttl": 60}, {"ttl": 60}),
    ],
)
def test_a_record_takes_the_place_of_another(
    old: Body, change: Body, shown: Body, tmp_path: Path
):
    old["zones"][0]["records"][0] |= change
    [found] = written(old, tmp_path)["zones"][0]["records"]
    assert found == {**found, **shown}


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
    assert list(found["checks"]["geo_location_check"]) == ["action", "locations"]
    assert list(found["checks"]["geo_location_check"]["locations"][0]) == [
        "city_name",
        "country_code",
    ]
