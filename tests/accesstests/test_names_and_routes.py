"""Promises about how names resolve, and about what is routed."""

import sqlite3
from collections.abc import Callable

import pytest
from django.db import connection

from dns.models import Zone
from meshmgmt.access.models import Router
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.services import let_go
from meshmgmt.core.transactions import account_write, in_pieces, write_number
from meshmgmt.inventory.models import NetworkResource
from tests.access.bodies import route
from tests.accesstests.test_enforcement import rule_body
from tests.accesstests.world import World, state
from tests.api_client import Answer, Api
from tests.databases import undone
from tests.dns.bodies import zone as zone_body
from tests.factories import account_settings, changed, group, network
from tests.people import api_as, person
from tests.races import sent_at_once
from tests.resource_contract import Body, ok, stored

pytestmark = pytest.mark.django_db

RECORD: Body = {"name": "wiki.corp.lan", "type": "A", "content": "10.0.0.5", "ttl": 60}


@pytest.fixture
def world(api: Api) -> World:
    made = World()
    body = {"name": "corp", "domain": "corp.lan", "enable_search_domain": True}
    body["distribution_groups"] = [made.staff.pk]
    zone = ok(api.post("/api/dns/zones", body))
    ok(api.post(f"/api/dns/zones/{zone['id']}/records", RECORD))
    return made


def resolving(world: World, expect: str = "reach", **more: object) -> AccessTest:
    name = str(more.pop("of", "wiki.corp.lan"))
    who = more.pop("source", world.staff)
    return world.promise("wiki", who, name, expect, kind="dns", **more)


def test_name_is_compared_with_what_is_expected(world: World):
    expected = {
        ("reach", ()): "passing",
        ("reach", ("10.0.0.5",)): "passing",
        ("reach", ("10.0.0.6",)): "failing",
        ("reach", ("10.0.0.5", "10.0.0.6")): "failing",
        ("never", ()): "failing",
        ("never", ("10.0.0.5",)): "failing",
        ("never", ("10.0.0.6",)): "passing",
    }
    for (expect, contents), found in expected.items():
        with undone():
            made = AccessTest.objects.get(
                pk=resolving(world, expect, contents=contents).pk
            )
            told = made.state, [each["because"] for each in made.failures]
        because = ["it resolves to 10.0.0.5"] if found == "failing" else []
        assert told == (found, because), (expect, contents)


def test_a_group_that_only_a_zone_names_counts_for_the_machines_of_a_user(
    world: World, api: Api
):
    told = group("Told")
    inner = zone_body(domain="inner.lan", distribution_groups=[told.pk])
    zone = ok(api.post("/api/dns/zones", inner))
    record = RECORD | {"name": "wiki.inner.lan"}
    ok(api.post(f"/api/dns/zones/{zone['id']}/records", record))
    owner = person("user")
    changed(world.laptop, user=owner)
    made = resolving(world, "never", of="wiki.inner.lan", source=owner)
    body = {"name": "Told", "peers": [world.laptop.pk]}
    answer = api.put(f"/api/groups/{told.pk}", body)
    assert answer.status == 409, answer
    assert state(made) == "passing"


def test_name_that_nobody_here_knows_is_no_answer(world: World):
    assert state(resolving(world, "never", of="other.corp.lan")) == "passing"
    AccessTest.objects.all().delete()
    guests = resolving(world, source=world.guests)
    assert state(guests) == "failing"
    because = AccessTest.objects.get().failures[0]["because"]
    assert because == "its own system resolves it"


def test_short_names_and_names_of_peers_are_resolved(world: World):
    assert state(resolving(world, of="wiki")) == "passing"
    AccessTest.objects.all().delete()
    label = world.server.dns_label
    made = resolving(world, of=label, contents=(world.server.ip,))
    assert state(made) == "passing"
    world.policy.enabled = False
    with pytest.raises(Exception, match="access test 'wiki' would fail"):
        world.policy.save()


def record_of(api: Api) -> str:
    [record] = ok(api.get(f"{zone_path()}/records"))
    return f"{zone_path()}/records/{record['id']}"


def zone_path() -> str:
    return f"/api/dns/zones/{Zone.objects.get().pk}"


def member_without_the_zone(api: Api, world: World) -> Answer:
    """The test names a group that the zone is not given to by itself."""
    test, both = AccessTest.objects.get(), group("both", world.laptop)
    source = {"source": {"kind": "group", "id": both.pk}}
    ok(api.put(f"/api/access-tests/{test.pk}", source))
    members = {"name": "both", "peers": [world.laptop.pk, world.guest.pk]}
    return api.put(f"/api/groups/{both.pk}", members)


OTHER_FILE = b"$ORIGIN corp.lan.\nother 60 IN A 10.0.0.1\n"
WAYS: dict[str, Callable[[Api, World], Answer]] = {
    "record changed": lambda api, _: api.put(record_of(api), {"content": "10.0.0.9"}),
    "record deleted": lambda api, _: api.delete(record_of(api)),
    "zone disabled": lambda api, _: api.put(zone_path(), {"enabled": False}),
    "zone deleted": lambda api, _: api.delete(zone_path()),
    "zone file without the name": lambda api, _: api.call(
        "PUT", f"{zone_path()}/zonefile", OTHER_FILE
    ),
    "zone given to others": lambda api, world: api.put(
        zone_path(), {"distribution_groups": [world.guests.pk]}
    ),
    "management disabled": lambda api, world: api.put(
        "/api/dns/settings", {"disabled_management_groups": [world.staff.pk]}
    ),
    "name of the record": lambda api, world: api.put(
        record_of(api), RECORD | {"name": "other.corp.lan"}
    ),
    "member without the zone": member_without_the_zone,
}


def test_write_that_changes_an_answer_is_refused(api: Api, world: World):
    test = resolving(world, contents=("10.0.0.5",))
    assert state(test) == "passing"
    found = {}
    for name, way in WAYS.items():
        with undone():
            answer = way(api, world)
            words = answer.json.get("message", "").partition(" would fail")[0]
            content = ok(api.get(record_of(api)))["content"]
            found[name] = answer.status, words, state(test), content
    refused = (409, "access test 'wiki'", "passing", "10.0.0.5")
    assert found == dict.fromkeys(WAYS, refused)


def test_write_in_pieces_is_whole_while_a_promise_about_names_is_kept(world: World):
    with in_pieces(9000):
        assert write_number() == 0
    resolving(world)
    with in_pieces(9000):
        assert write_number() != 0


@pytest.fixture
def office(api: Api, world: World) -> Body:
    """A printer that the server routes, and that staff reach."""
    office = network("office")
    router = {"peer": world.server.pk, "metric": 1, "masquerade": True, "enabled": True}
    ok(api.post(f"/api/networks/{office.pk}/routers", router))
    body = {"name": "printer", "address": "10.9.0.5", "enabled": True, "groups": []}
    made: Body = ok(api.post(f"/api/networks/{office.pk}/resources", body))
    target = {"id": made["id"], "type": "host"}
    rule = rule_body([world.staff.pk], [])
    rule["name"] = "print"
    [only] = rule["rules"]
    only.pop("destinations")
    rule["rules"] = [only | {"destinationResource": target, "bidirectional": False}]
    ok(api.post("/api/policies", rule))
    return made


@pytest.mark.parametrize("to", ["resource", "10.9.0.5"])
def test_what_is_routed_stays_reachable(api: Api, world: World, office: Body, to: str):
    printer = NetworkResource.objects.get()
    target = printer if to == "resource" else to
    assert state(world.promise("print", world.staff, target, "reach")) == "passing"
    router = Router.objects.get()
    base = f"/api/networks/{router.network_id}"
    off = {"enabled": False}
    for path in (f"{base}/routers/{router.pk}", f"{base}/resources/{printer.pk}"):
        before = stored()
        assert api.put(path, off).status == 409, path
        assert stored() == before
    waits = {"approval_required": True}
    assert api.put(f"/api/peers/{world.server.pk}", waits).status == 409


def test_nobody_else_gets_to_what_is_routed(api: Api, world: World, office: Body):
    world.promise("no print", world.guests, "10.9.0.5", "never")
    its = {"peer": world.server.pk, "groups": [world.guests.pk]}
    ok(api.post("/api/routes", route(network="10.9.0.0/24", **its)))
    meet = rule_body([world.guests.pk], [world.servers.pk], protocol="icmp")
    answer = api.post("/api/policies", meet)
    assert answer.status == 409
    because = answer.json["tests"][0]["failures"][0]["because"]
    assert "a route without access groups" in because


@pytest.mark.django_db(transaction=True)
def test_of_two_writes_that_together_break_a_promise_one_is_refused():
    api = api_as()
    world = World()
    bridge = group("bridge", world.guest)
    world.never()
    to_servers = rule_body([bridge.pk], [world.servers.pk], enabled=True)
    path, body = f"/api/groups/{bridge.pk}", {"name": "bridge", "peers": []}
    ok(api.put(path, body))
    answers = sent_at_once(
        api,
        ("POST", "/api/policies", to_servers),
        ("PUT", path, body | {"peers": [world.guest.pk]}),
    )
    assert sorted(answer.status for answer in answers) == [200, 409]
    assert state(AccessTest.objects.get()) == "passing"


def test_name_of_a_peer_in_a_domain_beyond_ascii_is_looked_at(api: Api, world: World):
    account_settings(dns_domain="xn--mnchen-3ya.internal")  # as it is stored
    name = f"{world.server.dns_label}.münchen.internal"
    made = resolving(world, of=name, contents=(world.server.ip,))
    assert state(made) == "passing"
    body = {"name": "Servers", "peers": []}
    answer = api.put(f"/api/groups/{world.servers.pk}", body)
    assert answer.status == 409, answer.json


@pytest.mark.sqlite
def test_more_peers_are_let_go_at_once_than_a_statement_takes(world: World):
    made = world.reach()
    connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1100)
    others = [f"{number:020}" for number in range(600)]
    with account_write():
        let_go("peer", [*others, world.laptop.pk])
    made.refresh_from_db()
    assert (made.source_ref, made.enabled) == ("", False)
    connection.close()
