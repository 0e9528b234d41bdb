"""What becomes of access objects when something that they name goes."""

import pytest

from groups.models import Group
from meshmgmt.access.models import Policy, Route
from meshmgmt.inventory.models import Peer
from tests.access.bodies import policy, route, rule
from tests.api_client import Api
from tests.factories import group_id, network, numbered, printer
from tests.people import api_as
from tests.resource_contract import Body, Trail, ok

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", ["route", "network.router"])
def test_route_or_router_of_a_deleted_peer_is_kept_disabled(
    api: Api, kind: str, whole: bool
):
    where, body = "/api/routes", route()
    off: Body = {"peer": "", "enabled": False}
    if kind == "network.router":
        where, body = f"/api/networks/{network().pk}/routers", {"peer": numbered(1).pk}
        off["peer_groups"] = []
    made = ok(api.post(where, body))
    one = f"{where}/{made['id']}"
    trail = Trail()
    chosen = Peer.objects.filter(pk=numbered(1).pk) if whole else numbered(1)
    chosen.delete()
    shown = ok(api.get(one))
    assert shown == {**made, **off}
    assert ok(api.put(one, shown)) == shown
    assert api.put(one, {"enabled": True}).status == 422
    assert api.post(where, {**body, **off}).status == 422
    assert trail.codes == [f"{kind}.update", "user.peer.delete"]
    assert trail.events[0].meta["reason"] == "peer 'peer no. 1' was deleted"


@pytest.mark.parametrize("side", ["source", "destination"])
@pytest.mark.parametrize("kind", ["peer", "host"])
def test_policy_that_names_a_deleted_peer_or_resource_is_kept_disabled(
    side: str, kind: str
):
    api = api_as("owner")
    named = numbered(1) if kind == "peer" else printer()
    end = {"id": named.pk, "type": kind}
    sent = rule(**{f"{side}s": None, f"{side}Resource": end})
    alone = ok(api.post("/api/policies", policy(rules=[sent])))
    beside = ok(api.post("/api/policies", policy(rules=[sent, rule()])))
    trail = Trail()
    named.delete()
    left = ok(api.get("/api/policies"))
    for before, after, still_on in ((alone, left[0], False), (beside, left[1], True)):
        emptied = {**before["rules"][0], "enabled": False, f"{side}s": []}
        del emptied[f"{side}Resource"]
        rules = [emptied, *before["rules"][1:]]
        assert after == {**before, "enabled": still_on, "rules": rules}
        assert ok(api.put(f"/api/policies/{before['id']}", after)) == after
    changed = {
        event.activity_code: event.meta["reason"]
        for event in trail.events
        if event.activity_code in {"rule.update", "policy.update"}
    }
    what = "peer 'peer no. 1'" if kind == "peer" else "resource 'printer'"
    reason = f"{what} was deleted"
    assert changed == {"rule.update": reason, "policy.update": reason}
    assert "rule.delete" not in trail.codes


def test_network_deleted_with_its_resources_keeps_policies_that_name_them():
    api = api_as("owner")
    end = {"id": printer().pk, "type": "host"}
    sent = rule(destinations=None, destinationResource=end)
    made = ok(api.post("/api/policies", policy(rules=[sent])))
    ok(api.delete(f"/api/networks/{network().pk}"))
    [left] = ok(api.get("/api/policies"))
    assert (left["id"], left["enabled"]) == (made["id"], False)


def test_what_goes_with_a_network_goes_before_it_and_says_so(api: Api):
    office, storage = network(), group_id("storage")
    where = f"/api/networks/{office.pk}"
    body = {"name": "nas", "address": "10.0.0.9", "groups": [storage]}
    nas = ok(api.post(f"{where}/resources", body))["id"]
    router = ok(api.post(f"{where}/routers", {"peer": numbered(1).pk}))["id"]
    trail = Trail()
    ok(api.delete(where))
    assert sorted(trail.targets[:-1]) == [
        ("network.resource.delete", nas),
        ("network.router.delete", router),
        ("resource.group.delete", storage),
    ]
    assert trail.targets[-1] == ("network.delete", office.pk)
    by_code = {event.activity_code: event for event in trail.events}
    assert by_code["network.resource.delete"].meta["network_name"] == "office"
    assert Group.objects.filter(pk=storage).exists()
    reasons = {event.activity_code: event.meta["reason"] for event in trail.events}
    network_gone = "network 'office' was deleted"
    assert reasons == {
        "resource.group.delete": "resource 'nas' was deleted",
        "network.resource.delete": network_gone,
        "network.router.delete": network_gone,
        "network.delete": network_gone,
    }


def test_peer_that_leaves_its_groups_because_it_is_deleted_says_so():
    group_id("people", 1, 2, 3)
    trail = Trail()
    numbered(1).delete()
    [left] = [e for e in trail.events if e.activity_code == "peer.group.delete"]
    assert left.meta["reason"] == "peer 'peer no. 1' was deleted"
    trail = Trail()
    Peer.objects.all().delete()
    others = [e for e in trail.events if e.activity_code == "peer.group.delete"]
    reason = "peers 'peer no. 2', 'peer no. 3' were deleted"
    assert {event.meta["reason"] for event in others} == {reason}


def test_routes_of_deleted_groups_are_put_back_as_they_are_shown(api: Api):
    first, second = [
        ok(api.post("/api/routes", route(peer="", peer_groups=[group_id(name)])))["id"]
        for name in ("gate", "door")
    ]
    for name in ("gate", "door", "people"):
        ok(api.delete(f"/api/groups/{group_id(name)}"))
    for made in (first, second):
        shown = ok(api.get(f"/api/routes/{made}"))
        assert (shown["enabled"], shown["peer"], shown["groups"]) == (False, "", [])
        assert ok(api.put(f"/api/routes/{made}", shown)) == shown
        assert api.put(f"/api/routes/{made}", {"enabled": True}).status == 422


def posture_check(api: Api, name: str) -> str:
    checks = {"nb_version_check": {"min_version": "1.0"}}
    made = ok(api.post("/api/posture-checks", {"name": name, "checks": checks}))
    return str(made["id"])


def test_policy_with_a_deleted_posture_check_is_kept_disabled(api: Api):
    checks = [posture_check(api, name) for name in ("old client", "new client")]
    made = ok(api.post("/api/policies", policy(source_posture_checks=checks)))
    trail = Trail()
    ok(api.delete(f"/api/posture-checks/{checks[0]}"))
    left = {**made, "enabled": False, "source_posture_checks": checks[1:]}
    assert ok(api.get("/api/policies")) == [left]
    gone = ("posture.check.delete", checks[0])
    assert trail.targets == [("policy.update", made["id"]), gone]
    reason = "posture check 'old client' was deleted"
    assert trail.events[0].meta["reason"] == reason


def test_what_drops_under_a_deleted_posture_check_goes_on_dropping(api: Api):
    check = posture_check(api, "c")
    drop, off = rule(action="drop"), rule(action="drop", enabled=False)
    for rules in ([drop], [rule(), drop], [rule(), off]):
        sent = policy(rules=rules, source_posture_checks=[check])
        ok(api.post("/api/policies", sent))
    trail = Trail()
    ok(api.delete(f"/api/posture-checks/{check}"))
    left = [
        (each["enabled"], [entry["enabled"] for entry in each["rules"]])
        for each in ok(api.get("/api/policies"))
        if each["source_posture_checks"] == []
    ]
    assert left == [(True, [True]), (True, [False, True]), (False, [True, False])]
    assert trail.codes.count("rule.update") == 1
    assert trail.codes.count("policy.update") == 3
    reasons = {event.meta.get("reason") for event in trail.events[:-1]}
    assert reasons == {"posture check 'c' was deleted"}


def test_deleting_a_peer_that_nothing_names_touches_nothing_else(api: Api):
    ok(api.post("/api/routes", route()))
    ok(api.post("/api/policies", policy(rules=[rule(sources=[group_id("a")])])))
    numbered(2).delete()
    assert Route.objects.get().enabled
    assert Policy.objects.count() == 1
