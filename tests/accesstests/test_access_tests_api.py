"""Access tests over HTTP."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from django.conf import LazySettings

from events.audit.reading import last_id
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from tests.accesstests.world import World, state
from tests.api_client import Api
from tests.factories import Trail, changed, group, group_id, numbered, peers, resource
from tests.people import person
from tests.resource_contract import TAKEN, Body, Fault, ResourceContract, ok

PATH = "/api/access-tests"


def body(number: int = 1, **changes: object) -> Body:
    return {
        "name": f"test {number}",
        "description": "guests stay out",
        "enabled": True,
        "enforce": False,
        "kind": "access",
        "source": {"kind": "group", "id": group_id("guests", 1)},
        "destination": {"kind": "group", "id": group_id("servers", 2)},
        "protocol": "tcp",
        "port": 5432,
        "expect": "never",
        "record_type": "A",
        "contents": [],
    } | changes


class TestAccessTests(ResourceContract):
    path = PATH
    required = ("name", "source", "destination", "expect")
    created_codes = ("access_test.create",)
    deleted_codes = ("access_test.delete",)

    def body(self, number: int = 1) -> Body:
        return body(number)

    def refused(self) -> Iterator[Fault]:
        yield {"name": " "}, 422, "name", "must not be empty or blank"
        yield {"name": f"test {TAKEN}"}, 409, "name", "this name exists already"
        for odd_name in ("a\x1bb", "a\x85b"):
            yield {"name": odd_name}, 422, "name", "must not hold control characters"
        yield {"description": "d" * 1001}, 422, "description", "more than 1000"
        yield {"kind": "ping"}, 422, "kind", "'ping' is no kind"
        yield {"expect": "maybe"}, 422, "expect", "use one of reach, never"
        yield {"protocol": "gre"}, 422, "protocol", "use one of all, tcp"
        yield {"protocol": "icmp"}, 422, "port", "icmp has no ports"
        yield {"port": 65536}, 422, "port", "must be from 1 to 65535, not 65536"
        yield {"port": "22"}, 400, "port", "must be a JSON integer"
        for kind in ("group", "peer", "user"):
            gone = {"source": {"kind": kind, "id": "d0000000000000000000"}}
            yield gone, 422, "source.id", f"{kind} 'd0000000000000000000' was not"
        there = {"kind": "group", "id": group_id("servers")}
        thing = {"source": there | {"kind": "resource"}}
        yield thing, 422, "source.kind", "is no kind: use one of"
        for kind, value in (
            *(("address", "10.0.0"), ("address", "fe80::1%eth0"), ("address", "")),
            *(("domain", "a..b"), ("domain", ""), ("domain", "a." * 127 + "abc")),
            ("domain", "-x.example"),
        ):
            odd = {"destination": {"kind": kind, "value": value}}
            yield odd, 422, "destination.value", f"'{value[:64]}' is no"
        dns = {"kind": "dns", "destination": {"kind": "domain", "value": "wiki.lan"}}
        yield {"kind": "dns"}, 422, "destination.kind", "of kind dns asks for a domain"
        yield dns | {"record_type": "MX"}, 422, "record_type", "use one of A, AAAA"
        yield dns | {"contents": ["x"]}, 422, "contents[0]", "'x' is no content of A"
        long = ["10.0.0.1"] * 101
        yield dns | {"contents": long}, 422, "contents", "at most 100 contents"
        # What the other kind asks is looked at too.
        for port in (10**12, -5):
            yield dns | {"port": port}, 422, "port", "must be from 1 to 65535"
        yield dns | {"protocol": "foobar"}, 422, "protocol", "use one of all, tcp"
        yield {"record_type": "X" * 300}, 422, "record_type", "use one of A, AAAA"
        yield {"contents": ["x" * 100_000]}, 422, "contents[0]", "is no content of A"


def test_a_port_is_taken_away_by_null(api: Api):
    made = ok(api.post(PATH, body()))
    path = f"{PATH}/{made['id']}"
    assert ok(api.put(path, {"description": "x"}))["port"] == 5432
    assert ok(api.put(path, {"port": None}))["port"] is None
    ok(api.put(path, {"port": 80}))
    shown = ok(api.put(path, {"protocol": "all", "port": None}))
    assert (shown["protocol"], shown["port"]) == ("all", None)


def failing(made: Body) -> list[tuple[str, str]]:
    return [(f["source"]["name"], f["destination"]["name"]) for f in made["failures"]]


def test_answer_tells_how_the_test_goes(api: Api):
    world = World()
    wanted: Body = {"name": "guests work", "expect": "reach"}
    ends = {"source": world.guests, "destination": world.servers}
    wanted |= {end: {"kind": "group", "id": one.pk} for end, one in ends.items()}
    made = ok(api.post(PATH, wanted))
    assert made["state"] == "failing"
    assert made["checked_at"]
    assert failing(made) == [("guest", "db-01")]
    assert "were peer guest in Staff" in made["failures"][0]["because"]
    never = {**wanted, "name": "apart", "expect": "never"}
    assert ok(api.post(PATH, never))["state"] == "passing"


def test_every_kind_of_source_is_understood(owner: User):
    world = World()
    changed(world.laptop, user=owner)
    ends = [
        *((good, world.servers) for good in (world.laptop, world.staff, owner)),
        *((away, world.servers) for away in (world.guest, world.guests)),
        (owner, world.guests),
    ]
    states = set()
    for source, target in ends:
        test = world.promise(f"{source} {target}", source, target, "reach")
        states.add((source._meta.model_name, state(test)))
    assert states == {*product(("peer", "group", "user"), ("passing", "failing"))}


def test_a_test_about_nobody_is_empty_and_so_is_one_switched_off(api: Api):
    nobody = {"kind": "group", "id": group_id("nobody")}
    made = ok(api.post(PATH, body(expect="reach")))
    assert made["state"] == "failing"
    path = f"{PATH}/{made['id']}"
    assert ok(api.put(path, {"destination": nobody}))["state"] == "empty"
    back = body()["destination"]
    assert ok(api.put(path, {"destination": back}))["state"] == "failing"
    off = ok(api.put(path, {"enabled": False}))
    assert (off["state"], off["failures"]) == ("empty", [])


def test_group_that_goes_empties_the_test_and_the_answer_names_the_event(api: Api):
    made = ok(api.post(PATH, body()))
    trail = Trail()
    ok(api.delete(f"/api/groups/{made['source']['id']}"))
    now = ok(api.get(f"{PATH}/{made['id']}"))
    assert now["source"] == {"kind": "group", "id": ""}
    assert (now["state"], now["enabled"]) == ("empty", False)
    [event] = [e for e in trail.events if e.activity_code == "access_test.update"]
    assert now["emptied_by"] == str(event.pk)
    assert event.meta["reason"] == "group 'guests' was deleted"
    # What it lost it may stay without while it is off.
    assert ok(api.put(f"{PATH}/{made['id']}", {"description": "gone"}))
    assert api.put(f"{PATH}/{made['id']}", {"enabled": True}).status == 422


def test_what_is_deleted_is_let_go(api: Api):
    world, one, other = World(), resource("printer"), resource("scanner")
    somebody = person("user")
    ends = {
        f"networks/{one.network_id}/resources/{one.pk}": (world.guests, one),
        f"networks/{other.network_id}": (world.guests, other),
        f"users/{somebody.pk}": (somebody, world.servers),
        f"peers/{world.server.pk}": (world.laptop, world.server),
    }
    for path, (source, destination) in ends.items():
        expect = "reach" if destination is world.server else "never"
        test = world.promise(path, source, destination, expect)
        assert (state(test) == "passing") is (source is not somebody)
        ok(api.delete(f"/api/{path}"))
        left = AccessTest.objects.get(pk=test.pk)
        assert "" in (left.source_ref, left.destination_ref)
        assert (left.enabled, left.state) == (False, "empty")


def test_usage_of_a_group_names_tests(api: Api):
    made = ok(api.post(PATH, body()))
    usage = ok(api.get(f"/api/groups/{made['source']['id']}/usage"))
    [found] = [u for u in usage["references"] if u["kind"] == "access_test"]
    assert found["id"] == made["id"]
    assert found["disabled_by_deletion"] is True


def test_more_tests_than_allowed_are_refused(api: Api, settings: LazySettings):
    settings.SVC = replace(settings.SVC, access_tests=1)
    ok(api.post(PATH, body(1)))
    answer = api.post(PATH, body(2))
    assert answer.refused(409).message.startswith("there are 1 access tests already")


def test_test_of_a_thousand_to_a_thousand_ends_quickly(api: Api):
    """A million pairs take minutes one by one."""
    everybody = peers(2000)
    half = group("half", *everybody[::2])
    world = World()
    world.promise("all", world.staff, half, "never", enforce=False)
    started = time.process_time()
    all_id = {"kind": "group", "id": half.pk}
    made = ok(api.post(PATH, body(source=all_id, destination=all_id, expect="reach")))
    assert len(made["failures"]) == 10
    never = body(2, source=all_id, destination=all_id, protocol="all", port=None)
    assert ok(api.post(PATH, never))["state"] == "passing"
    assert time.process_time() - started < 20


def test_peer_of_a_group_is_no_pair_with_itself(api: Api):
    one = {"kind": "group", "id": group_id("one", 7)}
    assert ok(api.post(PATH, body(source=one, destination=one)))["state"] == "empty"
    itself = {"kind": "peer", "id": numbered(7).pk}
    made = ok(api.post(PATH, body(2, source=one, destination=itself, expect="reach")))
    assert made["state"] == "empty"


def test_odd_domains_are_judged(api: Api):
    odd = product(("access", "dns"), ("a" * 20, "*.corp.lan", "x_y.lan."))
    for number, (kind, value) in enumerate(odd):
        aim = {"kind": "domain", "value": value}
        asked = body(number, kind=kind, destination=aim, protocol="all", port=None)
        answer = api.post(PATH, asked)
        assert answer.status == 422 or answer.json["state"] == "passing", (kind, value)


def test_it_is_the_one_of_the_end_that_is_gone_then_and_now(api: Api):
    world = World()
    path = f"/api/access-tests/{world.never().pk}"
    ok(api.delete(f"/api/groups/{world.servers.pk}"))
    first = ok(api.get(path))["emptied_by"]
    between = clock.rfc3339(clock.now())
    ok(api.delete(f"/api/groups/{world.guests.pk}"))
    assert ok(api.get(path))["emptied_by"] != first
    assert ok(api.get(f"{path}?at={between}"))["emptied_by"] == first

    ok(api.post(f"/api/events/audit/{last_id()}/revert", {"whole_request": True}))

    assert ok(api.get(path))["emptied_by"] == first
