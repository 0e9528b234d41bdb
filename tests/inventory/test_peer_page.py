"""The page of a peer: how it is and what it does, its settings behind "Edit"."""

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.inventory.admin.peers import newest_version
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh.versions import at_least
from tests.admin.signed_in import client_of
from tests.events.samples import moment, traffic
from tests.factories import group, peer, rule
from tests.people import api_of, person
from tests.queries import asking

pytestmark = pytest.mark.django_db

NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=4)


def path_of(machine: Peer) -> str:
    return f"/admin/inventory/peer/{machine.pk}/change/"


def facts_of(client: Client, machine: Peer) -> dict[str, str]:
    """Return the facts of the page as plain text."""
    facts = client.get(path_of(machine)).context["facts"]
    return {fact.label: re.sub("<[^>]*>", "", str(fact.value)) for fact in facts}


def test_a_connected_peer_says_since_when_and_from_where(client: Client):
    began = clock.now().replace(microsecond=0) - dt.timedelta(hours=2)
    state: dict[str, Any] = {"connected": True, "last_seen": clock.now()}
    state["stream_started"] = int(began.timestamp()) * 10**9
    place = {
        "connection_ip": "198.51.100.7",
        "city_name": "Porto",
        "country_code": "PT",
    }
    names = {"ip": "100.64.7.7", "dns_label": "web", "setup_key_name": "gate"}
    machine = peer("web", **state, **place, **names)
    group("kitchen", machine)
    facts = facts_of(client, machine)
    assert facts.pop("Name in DNS").startswith("web.")
    wanted = {
        "State": "connected",
        "Online since": f"{began:%Y-%m-%d %H:%M:%S} UTC",
        "Connects from": "198.51.100.7, Porto, PT",
        "Address": "100.64.7.7",
        "Owner": "setup key gate",
        "Groups": "All, kitchen",
    }
    assert facts.items() >= wanted.items()


def test_an_old_agent_is_compared_with_the_newest_seen(client: Client):
    old, new = peer(version="0.9.4"), peer(version="0.60.0")
    peer(version="1.0.0-rc1")
    peer(version="development")
    assert facts_of(client, old)["Agent"] == "0.9.4 newest seen: 0.60.0"
    assert facts_of(client, new)["Agent"] == "0.60.0 newest seen"


@given(st.lists(NUMBERS.map(lambda parts: ".".join(map(str, parts))), min_size=1))
def test_the_newest_version_is_at_least_every_other(versions: list[str]):
    newest = newest_version(versions)
    assert newest in versions
    assert all(at_least(newest, each) for each in versions)


def test_nothing_is_newest_where_nothing_is_a_version():
    assert newest_version(["", "development", "2.0.0-rc1"]) == ""


def test_settings_are_behind_edit_and_reports_are_read(client: Client):
    machine = peer("web", os="Debian 12")
    page = client.get(path_of(machine)).content.decode()
    form = client.get(f"{path_of(machine)}?edit=1").content.decode()
    assert 'name="name"' not in page
    assert "Debian 12" in page
    assert 'name="name"' in form
    assert "Debian 12" not in form
    sent = {"name": "new", "wg_public_key": machine.wg_public_key, "os": "other"}
    sent |= {"ip": machine.ip}
    done: Any = client.post(f"{path_of(machine)}?edit=1", sent)
    assert done["Location"] == path_of(machine)
    machine.refresh_from_db()
    assert (machine.name, machine.os) == ("new", "Debian 12")


def test_a_refused_form_is_shown_again_with_its_errors(client: Client):
    machine = peer("web")
    sent = {"name": " ", "wg_public_key": machine.wg_public_key, "ip": machine.ip}
    page = client.post(path_of(machine), sent).content.decode()
    assert "name must not be empty or blank" in page
    assert 'name="name"' in page


def test_names_of_others_are_escaped(client: Client):
    machine = peer("<b>web", city_name="<i>", setup_key_name="<u>", version="<s>")
    page = client.get(path_of(machine)).content.decode()
    assert not re.search("<b>web|<[ius]>", page)


def test_the_traffic_of_a_day_names_the_others_and_counts_drops(
    client: Client, owner: User
):
    web, db = peer("web"), peer("db", ip="100.64.7.2", dns_label="db")
    ends = {"source": {"id": web.pk, "type": "PEER", "name": "web", "address": web.ip}}
    ends |= {"destination": {**ends["source"], "id": db.pk, "name": "db"}}
    drop = {"type": "TYPE_DROP", "timestamp": moment(5)}
    sent = [
        traffic(**ends, window_end=moment(5), rx_bytes=1000, tx_bytes=24),
        traffic(**ends, window_end=moment(5), rx_bytes=0, tx_bytes=0, events=[drop]),
        traffic(**ends, window_end=moment(60 * 30), rx_bytes=5000),
    ]
    answer = api_of(owner).post("/api/events/network-traffic", sent)
    assert answer.status < 300, answer.json
    shown = client.get(path_of(web)).context["traffic"]
    assert (shown["size"], shown["drops"]) == ("1.0 KiB", 1)
    outward, inward = shown["sides"]
    [other] = outward["others"]
    assert (other["name"], other["size"]) == ("db", "1.0 KiB")
    assert inward["others"] == []
    assert len(client.get(other["url"]).context["rows"]) == 2
    assert len(client.get(outward["drops_url"]).context["rows"]) == 1


def test_the_newest_changes_lead_to_their_events(client: Client):
    machine = peer("web")
    sent = {"name": "new", "wg_public_key": machine.wg_public_key, "ip": machine.ip}
    client.post(path_of(machine), sent)
    told = client.get(path_of(machine)).context["changes"][0]
    assert "name" in told["detail"]
    assert client.get(told["url"]).status_code == 200


def test_who_may_not_edit_reads_the_settings():
    machine = peer("web")
    auditor = client_of(person("auditor"))
    page = auditor.get(path_of(machine)).content.decode()
    assert ">Settings</a>" in page
    assert auditor.get(f"{path_of(machine)}?edit=1").status_code == 200


def test_the_number_of_queries_does_not_grow_with_the_mesh(client: Client):
    one, two = peer("one"), peer("two")
    _, few = asking(lambda: facts_of(client, one))
    everybody = group("team", two, *(peer() for _ in range(30)))
    rule([everybody], [everybody])
    _, many = asking(lambda: facts_of(client, two))
    assert len(many) <= len(few) + 5
