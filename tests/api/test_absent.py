"""Lists that web interfaces ask for, of parts that this service does not have."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from events import places
from tests.api_client import Api
from tests.events.mmdb import write_database
from tests.people import api_as
from tests.resource_contract import ok, refusal

pytestmark = pytest.mark.django_db

EMPTY = (
    "/api/reverse-proxies/services",
    "/api/reverse-proxies/clusters",
    "/api/reverse-proxies/domains",
    "/api/integrations/event-streaming",
    "/api/identity-providers",
)


@pytest.mark.parametrize("path", EMPTY)
def test_list_on_an_ordinary_page_is_empty_and_writes_find_nothing(api: Api, path: str):
    assert ok(api.get(path)) == []
    for answer in (
        api.post(path, {"name": "x"}),
        api.get(f"{path}/x"),
        api.put(f"{path}/x", {"name": "x"}),
        api.delete(f"{path}/x"),
    ):
        assert "not found" in refusal(answer, 404)
    assert Api().get(path).status == 401
    assert api_as("user").get(path).status == 403


def test_configured_issuer_is_the_identity_provider(api: Api, settings: Any):
    facts = {"oidc_issuer": "https://idp.test/realm", "oidc_client_id": "mesh"}
    settings.SVC = dataclasses.replace(settings.SVC, **facts)
    path = "/api/identity-providers"
    [shown] = ok(api.get(path))
    told = {"issuer": "https://idp.test/realm", "client_id": "mesh"}
    assert shown == {"id": shown["id"], "type": "oidc", "name": "idp.test"} | told
    one = f"{path}/{shown['id']}"
    assert ok(api.get(one)) == shown
    for answer in (api.put(one, shown), api.delete(one), api.get(f"{path}/x")):
        refusal(answer, 404)


def city(geoname_id: int, name: str, country: str) -> dict[str, Any]:
    there = {"geoname_id": geoname_id, "names": {"en": name}}
    return {"country": {"iso_code": country}, "city": there}


def test_cities_of_a_country_come_from_the_configured_file(
    api: Api, settings: Any, tmp_path: Path
):
    places = {
        "1.1.0.0/16": city(2950159, "Berlin", "DE"),
        "1.2.0.0/16": city(2761369, "Vienna", "AT"),
        "1.3.0.0/16": city(2925533, "Aachen", "DE"),
        "1.4.0.0/16": city(2950159, "Berlin", "DE"),
        "1.5.0.0/16": {"country": {"iso_code": "DE"}},
    }
    path = tmp_path / "places.mmdb"
    write_database(path, places)
    settings.SVC = dataclasses.replace(settings.SVC, geoip_database=path)
    assert ok(api.get("/api/locations/countries/de/cities")) == [
        {"geoname_id": 2925533, "city_name": "Aachen"},
        {"geoname_id": 2950159, "city_name": "Berlin"},
    ]
    assert ok(api.get("/api/locations/countries/FR/cities")) == []


def test_no_cities_are_known_without_a_file(api: Api, tmp_path: Path):
    assert ok(api.get("/api/locations/countries/DE/cities")) == []
    assert api.get("/api/locations/countries/XX/cities").status == 404


def test_damaged_file_knows_no_cities(settings: Any, tmp_path: Path):
    path = tmp_path / "damaged.mmdb"
    path.write_bytes(b"no database")
    settings.SVC = dataclasses.replace(settings.SVC, geoip_database=path)
    assert places.cities("DE") == ()
