"""Promises that a write breaks from afar: by names, aliases, old addresses, settings."""

import datetime as dt
from ipaddress import ip_network
from typing import Any

import pytest

from dns.models import Zone
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accounts.models import Account
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from tests.accesstests.world import World, state
from tests.api_client import Answer, Api
from tests.dns.bodies import record
from tests.factories import account_settings, changed
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World()


def name_of(world: World) -> str:
    return f"{world.server.dns_label}.{Account.objects.get().peers_domain}"


def refused(answer: Answer, test: AccessTest) -> None:
    assert answer.status == 409, answer.json
    assert [each["id"] for each in answer.json["tests"]] == [test.pk]
    assert state(test) == "passing"


@pytest.mark.parametrize("kind", ["access", "dns"])
def test_names_that_end_with_a_dot_are_names_of_peers_too(
    api: Api, world: World, kind: str
):
    test = world.promise("dot", world.laptop, f"{name_of(world)}.", "reach", kind=kind)
    refused(api.put(f"/api/peers/{world.server.pk}", {"name": "other"}), test)


def test_aliases_of_peers_are_followed(api: Api, world: World):
    groups = [world.staff.pk]
    zone = {"name": "corp", "domain": "corp.example", "distribution_groups": groups}
    made = ok(api.post("/api/dns/zones", zone | {"enable_search_domain": False}))
    alias = record(name="www.corp.example", type="CNAME", content=name_of(world))
    ok(api.post(f"/api/dns/zones/{made['id']}/records", alias))
    assert Zone.objects.count() == 1
    test = world.promise("alias", world.laptop, "www.corp.example", "reach", kind="dns")
    server = f"/api/peers/{world.server.pk}"
    servers = f"/api/groups/{world.servers.pk}"
    refused(api.put(server, {"name": "other"}), test)
    refused(api.put(server, {"approval_required": True}), test)
    refused(api.put(servers, {"name": "Servers", "peers": []}), test)
    refused(api.delete(server), test)


def test_the_peer_behind_an_address_neither_moves_nor_goes(api: Api, world: World):
    test = world.promise("there", world.laptop, world.server.ip, "reach")
    path = f"/api/peers/{world.server.pk}"
    free = str(ip_network(Account.objects.get().network_range)[-5])
    refused(api.put(path, {"ip": free}), test)
    refused(api.delete(path), test)


def test_a_test_of_a_user_without_peers_is_about_nobody(api: Api, world: World):
    owner = person("user")
    changed(world.laptop, user=owner)
    test = world.promise("mine", owner, world.servers, "reach", enforce=False)
    assert state(test) == "passing"
    ok(api.delete(f"/api/peers/{world.laptop.pk}"))
    assert state(test) == "empty"


def test_ending_logins_sooner_is_no_mere_passing_of_time(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
):
    laptop = Peer.objects.get(pk=world.laptop.pk)
    login = {"login_expiration_enabled": True, "last_login": clock.now()}
    changed(laptop, user=person("user"), **login)
    month = 30 * 86400
    account_settings(peer_login_expiration_enabled=True, peer_login_expiration=month)
    test = world.reach()
    later = clock.now() + dt.timedelta(hours=5)
    monkeypatch.setattr(clock, "now", lambda: later)
    [account] = ok(api.get("/api/accounts"))
    body = {"settings": account["settings"] | {"peer_login_expiration": 3600}}
    refused(api.put(f"/api/accounts/{account['id']}", body), test)


def test_one_refusal_reads_the_account_as_often_for_many_promises_as_for_one(
    api: Api, world: World, django_assert_max_num_queries: Any
):
    counts = []
    for number in (1, 8):
        while (made := AccessTest.objects.count()) < number:
            world.promise(f"n{made}", world.laptop, world.server, "reach")
        with django_assert_max_num_queries(200) as asked:
            answer = api.delete(f"/api/policies/{world.policy.pk}")
        assert len(answer.json["tests"]) == number
        counts.append(len(asked))
    assert counts[1] <= counts[0]
