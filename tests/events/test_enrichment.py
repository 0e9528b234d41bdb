"""Events are completed at arrival from our own data and a local place database."""

import dataclasses
import ipaddress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from events import directory, places
from events.directory import PeerFacts, ResourceFacts, UserFacts
from events.models import ProxyEntry, TrafficEvent
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.core.registry import Registry
from tests.events.mmdb import write_database
from tests.events.samples import moment, proxy

pytestmark = pytest.mark.django_db

ANN = UserFacts("user-1", "Ann", "Ann@mesh.dev")
LAPTOP = PeerFacts("peer-9", "laptop", "100.64.0.9", "linux", "laptop.mesh", "user-1")
SERVER = PeerFacts("peer-8", "server", "100.64.0.8", "debian", "server.mesh", "")
PRINTER = ResourceFacts("res-1", "printer", "host")
NETWORK = "81.2.69.0/24"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill the directory with a small mesh."""
    facts: dict[str, Any] = {
        "peers": lambda ids, addresses: [
            peer
            for peer in (LAPTOP, SERVER)
            if peer.id in ids or peer.address in addresses
        ],
        "users": lambda keys: [ANN] if {"user-1", "ann@mesh.dev"} & set(keys) else [],
        "policies": lambda ids: {"policy-1": "Allow"} if "policy-1" in ids else {},
        "resources": lambda ids: [PRINTER] if PRINTER.id in ids else [],
        "overlay": lambda: [ipaddress.ip_network("100.64.0.0/10")],
    }
    for name, lookup in facts.items():
        monkeypatch.setattr(directory, name, Registry({"tests": lookup}))


def arrived(**facts: Any) -> dict[str, Any]:
    """Return what became of an event with these facts."""
    event = {"reporter_id": "r", "window_end": moment(1), **facts}
    batches.ingest_events(TRAFFIC, [event])
    content: dict[str, Any] = TrafficEvent.objects.get().content
    return content


def test_ids_alone_are_completed():
    event = arrived(
        source={"id": "peer-9"}, destination={"id": "peer-8"}, policy={"id": "policy-1"}
    )
    assert event["source"] == {
        "id": "peer-9",
        "type": "PEER",
        "name": "laptop",
        "geo_location": {"city_name": "", "country_code": ""},
        "os": "linux",
        "address": "100.64.0.9",
        "dns_label": "laptop.mesh",
    }
    assert event["user"] == {"id": "user-1", "email": "Ann@mesh.dev", "name": "Ann"}
    assert event["policy"] == {"id": "policy-1", "name": "Allow"}
    assert event["connection_type"] == "P2P"


def test_an_address_of_ours_names_the_peer():
    ends = {"source": "100.64.0.9:5123", "destination": "100.64.0.8"}
    event = arrived(**{end: {"address": address} for end, address in ends.items()})
    told = event["source"]["id"], event["source"]["address"]
    assert told == ("peer-9", "100.64.0.9:5123")
    assert TrafficEvent.objects.get().destination_id == "peer-8"


def test_what_the_reporter_says_stays():
    event = arrived(
        source={"id": "peer-9", "name": "old name", "os": "bsd"},
        destination={"id": "peer-8"},
        user={"id": "user-7", "name": "Somebody"},
    )
    assert (event["source"]["name"], event["source"]["os"]) == ("old name", "bsd")
    assert event["user"] == {"id": "user-7", "email": "", "name": "Somebody"}


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        ({"id": "res-1"}, "ROUTED"),
        ({"address": "8.8.8.8:53"}, "ROUTED"),
        ({"address": "no address"}, "ROUTED"),
        ({"address": "100.64.7.7"}, "P2P"),
        ({"id": "gone", "type": "PEER"}, "P2P"),
    ],
)
def test_the_connection_type_is_worked_out(destination: dict[str, str], expected: str):
    event = arrived(source={"id": "peer-9"}, destination=destination)
    assert event["connection_type"] == expected


def test_a_resource_gets_its_name_and_type():
    end = arrived(source={"id": "peer-9"}, destination={"id": "res-1"})["destination"]
    assert (end["name"], end["type"]) == ("printer", "HOST_RESOURCE")


def test_completed_facts_are_searched():
    arrived(source={"id": "peer-9"}, destination={"id": "peer-8"})
    assert TrafficEvent.objects.filter(search__holds="ann@mesh").exists()


def test_an_entry_from_a_peer_names_the_peer_and_an_email_its_user():
    batches.ingest_events(
        PROXY, [proxy(source_ip="100.64.0.9", user_id="ANN@mesh.dev")]
    )
    content = ProxyEntry.objects.get().content
    assert content["metadata"] == {"peer_id": "peer-9", "peer_name": "laptop"}
    assert content["user_id"] == "user-1"


@pytest.fixture
def city_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database that knows one network, and is configured."""
    path = tmp_path / "city.mmdb"
    london = {
        "country": {"iso_code": "GB"},
        "city": {"names": {"en": "London"}},
        "subdivisions": [{"iso_code": "ENG"}],
    }
    write_database(path, {NETWORK: london})
    config = dataclasses.replace(settings.SVC, geoip_database=path)
    monkeypatch.setattr(settings, "SVC", config)
    return path


@pytest.mark.usefixtures("city_database")
def test_public_addresses_get_their_place():
    event = arrived(source={"id": "peer-9"}, destination={"address": "81.2.69.7:443"})
    place = {"city_name": "London", "country_code": "GB"}
    assert event["destination"]["geo_location"] == place
    entries = [proxy(source_ip="81.2.69.8"), proxy(country_code="FR")]
    batches.ingest_events(PROXY, entries)
    contents = [entry.content for entry in ProxyEntry.objects.all()]
    assert {(c.get("country_code"), c.get("subdivision_code")) for c in contents} == {
        ("GB", "ENG"),
        ("FR", None),
    }


@pytest.mark.usefixtures("city_database")
@pytest.mark.parametrize("address", ["9.9.9.9", "10.0.0.1", ""])
def test_unknown_and_private_addresses_have_no_place(address: str):
    assert places.look_up(address) is None


@pytest.mark.usefixtures("city_database")
def test_a_database_of_ipv4_knows_no_place_of_ipv6():
    batches.ingest_events(PROXY, [proxy(source_ip="2a00:1450:4001::1")])
    assert "country_code" not in ProxyEntry.objects.get().content


@pytest.mark.parametrize(
    "facts",
    [{"country": "GB"}, {"country": {"iso_code": "GB"}, "city": {"names": 1}}, None],
    ids=["country", "city", "gone"],
)
def test_a_database_that_is_damaged_or_went_away_costs_no_event(
    facts: dict[str, Any] | None, city_database: Path, caplog: pytest.LogCaptureFixture
):
    city_database.unlink()
    if facts is not None:
        write_database(city_database, {NETWORK: facts})
        places._reader.cache_clear()
    for number in range(3):
        batches.ingest_events(PROXY, [proxy(source_ip=f"81.2.69.{number}")])
    assert ProxyEntry.objects.count() == 3
    assert sum("places of addresses" in line for line in caplog.messages) == 1


def test_without_a_database_there_are_no_places():
    assert places.look_up("81.2.69.7") is None
