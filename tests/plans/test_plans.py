"""`?dry_run=true` and `X-Plan-Hash`: what a write would do, and doing just that."""

import time
from typing import Any

import pytest

from events.audit.changes import Change
from groups.models import Group
from groups.services import group_update
from meshmgmt.access.models import Policy
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.account import account_update
from meshmgmt.core.context import account_id
from meshmgmt.inventory.models import Peer
from meshmgmt.plans.planner import essence
from tests.access import bodies as access
from tests.api_client import Api
from tests.dns import bodies
from tests.factories import Trail, group, peer
from tests.people import api_as, api_of, person
from tests.resource_contract import ok, stored

pytestmark = pytest.mark.django_db

Body = dict[str, Any]
BUSY = 4
"""A machine with other work takes so many times as long; what is quadratic takes longer."""


def dry(path: str) -> str:
    return f"{path}?dry_run=true"


def guard(planned: Body) -> dict[str, str]:
    return {"X-Plan-Hash": planned["plan_hash"]}


def deeds(planned: Body) -> set[tuple[str, str, str]]:
    return {
        (done["action"], done["type"], done["name"])
        for done in planned["plan"]["objects"]
    }


def zone(api: Api, made: Group, domain: str = "web.example") -> Body:
    body = bodies.zone(name="web zone", domain=domain, distribution_groups=[made.pk])
    zone: Body = ok(api.post("/api/dns/zones", body))
    record = bodies.record(name=domain)
    ok(api.post(f"/api/dns/zones/{zone['id']}/records", record))
    return zone


class TestWhatIsTold:
    def test_deleting_a_group_names_all_that_it_takes_along(self, api: Api, web: Group):
        zone(api, web)
        planned = ok(api.delete(dry(f"/api/groups/{web.pk}")))
        policy = Policy.objects.exclude(name="Default").get()
        assert deeds(planned) >= {
            ("deleted", "group", "web"),
            ("disabled", "policy", policy.name),
            ("disabled", "zone", "web zone"),
        }
        changes = {done["name"]: done["changes"] for done in planned["plan"]["objects"]}
        assert changes[policy.name]["enabled"] == {"before": True, "after": False}
        assert planned["result"] == {}

    def test_peers_whose_map_and_dns_become_others_are_named(
        self, api: Api, web: Group
    ):
        zone(api, web)
        seen = ok(api.delete(dry(f"/api/groups/{web.pk}")))["plan"]["peers"]
        assert (seen["maps"]["count"], seen["maps"]["exact"]) == (3, True)
        [difference] = seen["dns"]
        gone = {"added": [], "removed": ["web zone"], "changed": []}
        assert difference["zones"] == gone
        assert difference["peers"]["count"] == 2

    def test_peers_that_may_be_affected_and_are_not_do_not_count(
        self, api: Api, web: Group
    ):
        policy = Policy.objects.exclude(name="Default").get()
        body = ok(api.get(f"/api/policies/{policy.pk}")) | {"name": "renamed"}
        planned = ok(api.put(dry(f"/api/policies/{policy.pk}"), body))
        assert planned["plan"]["peers"]["maps"]["count"] == 0

    def test_maps_of_the_same_bytes_do_not_count_however_they_are_made(self, api: Api):
        user, *routing = (peer(name) for name in "tapz")
        using = group("using", user)
        first, second = group("first", routing[0]), group("second", *routing[1:])
        for number, made in enumerate((first, second)):
            body = access.route(
                network_id=f"net {number}",
                network=f"10.{number}.0.0/16",
                groups=[using.pk],
                peer_groups=[made.pk],
            )
            del body["peer"]
            ok(api.post("/api/routes", body))
        body = {"name": "first", "peers": [each.pk for each in routing[:2]]}
        planned = ok(api.put(dry(f"/api/groups/{first.pk}"), body))
        told = [each["name"] for each in planned["plan"]["peers"]["maps"]["peers"]]
        assert user.dns_label not in told

    def test_for_whom_else_a_zone_is_is_no_difference(self, api: Api, web: Group):
        made = zone(api, web)
        path = f"/api/dns/zones/{made['id']}"
        body = {"distribution_groups": [web.pk, group("more", peer("new")).pk]}
        [difference] = ok(api.put(dry(path), body))["plan"]["peers"]["dns"]
        assert difference["zones"]["added"] == ["web zone"]
        told = [each["name"] for each in difference["peers"]["peers"]]
        assert told == [Peer.objects.get(name="new").dns_label]

    def test_a_change_of_everybody_is_counted_for_all(self, api: Api, web: Group):
        path = f"/api/accounts/{account_id()}"
        settings = ok(api.get(path))["settings"] | {"dns_domain": "other.example"}
        planned = ok(api.put(dry(path), {"settings": settings}))
        assert planned["plan"]["peers"]["maps"]["count"] == 3
        assert deeds(planned) == {("changed", "account", f"account {account_id()}")}

    def test_a_write_that_changes_nothing_has_an_empty_plan(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        same = {"name": "web", "peers": [p["id"] for p in ok(api.get(path))["peers"]]}
        planned = ok(api.put(dry(path), same))
        assert planned["plan"]["objects"] == planned["plan"]["events"] == []
        assert api.put(path, same, **guard(planned)).status == 200

    def test_pairs_of_groups_whose_reach_changes_are_told(self, api: Api, web: Group):
        for policy in Policy.objects.filter(name="Default"):
            ok(api.delete(f"/api/policies/{policy.pk}"))
        policy = Policy.objects.get()
        body = ok(api.get(f"/api/policies/{policy.pk}"))
        narrow = body["rules"][0] | {"protocol": "tcp", "ports": ["22"]}
        planned = ok(
            api.put(dry(f"/api/policies/{policy.pk}"), body | {"rules": [narrow]})
        )
        reach = planned["plan"]["reach"]
        assert reach["left_out"] == 0
        pairs = reach["pairs"]
        told = {(p["source"]["name"], p["destination"]["name"]): p for p in pairs}
        lost = told["web", "db"]
        assert (lost["gained"], lost["lost_pairs"]) == ("", 2)
        assert lost["lost"] == "ICMP, other protocols, TCP 1-21 and 23-65535, UDP"
        group_ = f"/api/groups/{web.pk}"
        members = [each["id"] for each in ok(api.get(group_))["peers"]]
        more = [*members, peer("delta").pk]
        joined = ok(api.put(dry(group_), {"name": "web", "peers": more}))
        texts = [pair["text"] for pair in joined["plan"]["reach"]["pairs"]]
        assert "web may begin everything with db (1 pair)" in texts
        renamed = ok(api.put(dry(f"/api/policies/{policy.pk}"), body | {"name": "x"}))
        assert renamed["plan"]["reach"] == {"pairs": [], "left_out": 0}

    def test_secrets_are_no_part_of_a_plan(self, api: Api):
        body = {"name": "k", "type": "one-off", "expires_in": 86400, "usage_limit": 1}
        planned = ok(api.post(dry("/api/setup-keys"), body))
        plain = planned["result"]["key"]
        assert plain not in str(planned["plan"])


def test_many_objects_made_at_once_hold_the_lock_for_a_moment():
    made = [Group(name=str(number)) for number in range(20_000)]
    changes = [Change(x, x.pk, created=True, after={"name": x.name}) for x in made]
    started = time.process_time()
    told = essence(changes)
    assert time.process_time() - started < BUSY * 1
    assert told[-1][2] == "new-20000"


class TestNothingStays:
    @pytest.mark.parametrize("kind", ["group", "zone", "user", "token", "peer"])
    def test_the_database_is_the_same_and_the_plan_can_be_applied(
        self, api: Api, web: Group, kind: str
    ):
        made = zone(api, web)
        user = person("user")
        own = api_of(user)
        somebody = Peer.objects.get(name="alpha")
        robot = {
            "name": "r",
            "role": "user",
            "auto_groups": [],
            "is_service_user": True,
        }
        address = {
            "name": "a.web.example",
            "type": "A",
            "content": "10.1.1.1",
            "ttl": 9,
        }
        path, body = {
            "group": ("/api/groups", {"name": "new", "peers": [somebody.pk]}),
            "zone": (f"/api/dns/zones/{made['id']}/records", address),
            "user": ("/api/users", robot),
            "token": (f"/api/users/{user.pk}/tokens", {"name": "t", "expires_in": 9}),
            "peer": (f"/api/peers/{somebody.pk}", {"name": "delta"}),
        }[kind]
        caller = own if kind == "token" else api
        call = caller.put if kind == "peer" else caller.post
        before = stored()
        planned = ok(call(dry(path), body))
        assert stored() == before
        trail = Trail()
        ok(call(path, body, **guard(planned)))
        told = [event["activity_code"] for event in planned["plan"]["events"]]
        assert trail.codes == told != []

    def test_a_refused_write_is_refused_alike(self, api: Api, web: Group):
        for body in ({"name": ""}, {"name": "db"}, {"name": 1}, b"no json"):
            planned = api.put(dry(f"/api/groups/{web.pk}"), body)
            done = api.put(f"/api/groups/{web.pk}", body)
            assert planned.status == done.status >= 400
            assert planned.json == done.json

    def test_who_may_not_write_may_not_plan(self, web: Group):
        path = dry(f"/api/groups/{web.pk}")
        assert api_as("auditor").delete(path).status == 403

    def test_what_is_no_database_write_cannot_be_planned(self, api: Api):
        for method, path in (
            (api.put, "/api/users/{}/password"),
            (api.post, "/api/events/network-traffic"),
        ):
            answer = method(dry(path.format(User.objects.first())), [])
            assert answer.status == 400
            assert "cannot be planned" in answer.json["message"]

    @pytest.mark.parametrize("said", ["=perhaps", "=", "", "=true&dry_run=false"])
    def test_neither_true_nor_false_is_refused(self, api: Api, web: Group, said: str):
        answer = api.delete(f"/api/groups/{web.pk}?dry_run{said}")
        assert answer.status == 400
        assert Group.objects.filter(pk=web.pk).exists()


class TestGuard:
    def test_a_world_that_moved_refuses_and_shows_the_new_plan(
        self, api: Api, web: Group
    ):
        path = f"/api/groups/{web.pk}"
        planned = ok(api.delete(dry(path)))
        zone(api, web)
        answer = api.delete(path, **guard(planned))
        assert answer.status == 409
        assert ("disabled", "zone", "web zone") in deeds(answer.json)
        assert Group.objects.filter(pk=web.pk).exists()
        assert api.delete(path, **guard(answer.json)).status == 200

    def test_more_peers_that_notice_refuse_too(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        planned = ok(api.put(dry(path), {"name": "web", "peers": []}))
        db = Group.objects.get(name="db")
        [gamma] = ok(api.get(f"/api/groups/{db.pk}"))["peers"]
        more = [gamma["id"], peer().pk]
        group_update(group_id=db.pk, name="db", peers=more, resources=[])
        answer = api.put(path, {"name": "web", "peers": []}, **guard(planned))
        assert answer.status == 409

    def test_addresses_that_are_drawn_do_not_matter(self, api: Api):
        six, one = group("six"), peer()
        settings = {"network_range_v6": "fd00:1::/64", "ipv6_enabled_groups": [six.pk]}
        account_update(settings=settings)
        path, body = f"/api/groups/{six.pk}", {"name": "six", "peers": [one.pk]}
        planned = ok(api.put(dry(path), body))
        assert ("changed", "peer", one.name) in deeds(planned)
        assert api.put(path, body, **guard(planned)).status == 200

    def test_what_others_did_elsewhere_does_not_matter(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        planned = ok(api.delete(dry(path)))
        ok(api.post("/api/groups", {"name": "elsewhere"}))
        assert api.delete(path, **guard(planned)).status == 200

    @pytest.mark.parametrize("forged", ["0", "", "é", "a" * 64])
    def test_a_forged_hash_changes_nothing(self, api: Api, web: Group, forged: str):
        path = f"/api/groups/{web.pk}"
        before = stored()
        answer = api.put(path, {"name": "x"}, **{"X-Plan-Hash": forged})
        assert answer.status == 409
        assert stored() == before

    def test_a_plan_is_for_its_own_body_and_path(self, api: Api, web: Group):
        path = f"/api/groups/{web.pk}"
        planned = ok(api.put(dry(path), {"name": "x"}))
        assert api.put(path, {"name": "y"}, **guard(planned)).status == 409

    def test_a_key_and_a_dry_run_exclude_each_other(self, api: Api):
        answer = api.post(dry("/api/groups"), {"name": "x"}, **{"Idempotency-Key": "k"})
        assert answer.status == 400

    def test_what_refuses_the_write_is_told_beside_a_key_too(
        self, api: Api, web: Group
    ):
        ok(api.post("/api/groups", {"name": "taken"}))
        for number, name in enumerate(["", "taken"]):
            body = {"name": name, "peers": []}
            plain = api.put(f"/api/groups/{web.pk}", body)
            assert plain.status in (409, 422)
            headers = {"Idempotency-Key": f"k{number}", "X-Plan-Hash": "forged"}
            answer = api.put(f"/api/groups/{web.pk}", body, **headers)
            assert (answer.status, answer.json) == (plain.status, plain.json)

    def test_a_key_keeps_what_a_guarded_write_answered(self, api: Api):
        planned = ok(api.post(dry("/api/groups"), {"name": "x"}))
        headers = {"Idempotency-Key": "k", **guard(planned)}
        first = api.post("/api/groups", {"name": "x"}, **headers)
        again = api.post("/api/groups", {"name": "x"}, **headers)
        assert first.status == again.status == 200
        assert again.body == first.body
