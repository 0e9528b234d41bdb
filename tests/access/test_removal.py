"""What becomes of access objects when a peer goes."""

import pytest

from meshmgmt.access.models import Policy, Route
from meshmgmt.core.errors import PreconditionFailed
from meshmgmt.inventory.models import Peer
from tests.access.bodies import group, network, peer, policy, route, rule, with_members
from tests.people import api_as
from tests.resource_contract import Trail, ok

pytestmark = pytest.mark.django_db


def test_route_of_a_deleted_peer_is_disabled() -> None:
    api = api_as("owner")
    made = ok(api.post("/api/routes", route()))
    trail = Trail()
    peer(1).delete()
    assert ok(api.get(f"/api/routes/{made['id']}")) == {
        **made,
        "peer": "",
        "enabled": False,
    }
    assert trail.codes == ["route.update", "user.peer.delete"]
    assert trail.events[0].meta["reason"] == "a peer was deleted"


def test_rules_for_a_deleted_peer_alone_go() -> None:
    api = api_as("owner")
    end = {"id": peer(1).pk, "type": "peer"}
    sent = rule(destinations=[], destinationResource=end)
    ok(api.post("/api/policies", policy(rules=[sent])))
    beside = ok(api.post("/api/policies", policy(rules=[sent, rule()])))
    trail = Trail()
    Peer.objects.filter(pk=peer(1).pk).delete()
    [left] = ok(api.get("/api/policies"))
    assert left == {**beside, "rules": beside["rules"][1:]}
    assert sorted(trail.codes) == [
        "policy.delete",
        "rule.delete",
        "rule.delete",
        "user.peer.delete",
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_router_keeps_its_peer_from_deletion(whole: bool) -> None:
    api = api_as("owner")
    where = f"/api/networks/{network().pk}/routers"
    made = ok(api.post(where, {"peer": peer(1).pk}))
    with_members("servers", 1)
    ok(api.post("/api/policies", policy()))
    trail = Trail()
    chosen = Peer.objects.filter(pk=peer(1).pk) if whole else peer(1)
    with pytest.raises(PreconditionFailed) as refused:
        chosen.delete()
    assert refused.value.message == (
        f"peer {peer(1).pk!r} is linked to a network router: {made['id']}"
    )
    assert Peer.objects.count() == 1
    assert trail.codes == []


def test_deleting_a_peer_that_nothing_names_touches_nothing_else() -> None:
    api = api_as("owner")
    ok(api.post("/api/routes", route()))
    ok(api.post("/api/policies", policy(rules=[rule(sources=[group("a")])])))
    peer(2).delete()
    assert Route.objects.get().enabled
    assert Policy.objects.count() == 1
