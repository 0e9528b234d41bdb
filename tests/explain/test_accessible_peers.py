"""Which peers a peer can reach, over HTTP."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from groups.selectors import all_group_id
from meshmgmt.inventory.models import Peer
from tests.access.bodies import policy, route
from tests.access.bodies import rule as rule_body
from tests.api_client import Api
from tests.factories import account_settings, group, network, peer, peers, rule
from tests.people import api_of, person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def reach(api: Api, one: Peer) -> list[str]:
    return [row["name"] for row in ok(api.get(f"/api/peers/{one.pk}/accessible-peers"))]


def of_all() -> dict[str, Any]:
    """Return a rule that lets everybody meet."""
    return rule_body(sources=[all_group_id()], destinations=[all_group_id()])


def test_row_has_the_fields_that_clients_know(api: Api):
    a = peer("a")
    b = peer("b", ipv6="fd00::1", dns_label="b", user=person("user"), os="Debian 12")
    everybody = group("everybody", a, b)
    rule([everybody], [everybody])
    row = {"id": b.pk, "name": "b", "ip": b.ip, "ipv6": "fd00::1", "os": "Debian 12"}
    row |= {"dns_label": "b.mesh.internal", "user_id": b.user_id, "connected": False}
    row |= {"country_code": "", "city_name": "", "geoname_id": 0}
    row |= {"last_seen": "0001-01-01T00:00:00Z"}
    assert ok(api.get(f"/api/peers/{a.pk}/accessible-peers")) == [row]


def test_policies_and_routers_decide_and_names_are_known_by_routes_too(api: Api):
    a, b, c, d, gateway, hidden = (peer(name) for name in ("a", *"bcd", "gw", "hid"))
    left, right, others = group("left", a), group("right", b, c), group("others", d)
    office = f"/api/networks/{network().pk}"
    behind = group("behind")
    printer = {"name": "p", "address": "10.0.0.1", "enabled": True}
    ok(api.post(f"{office}/resources", printer | {"groups": [behind.pk]}))
    ok(api.post(f"{office}/routers", {"peer": gateway.pk}))
    end = {"id": d.pk, "type": "peer"}
    bodies: list[dict[str, Any]] = [
        rule_body(sources=[left.pk], destinations=[right.pk]),
        rule_body(sources=[], sourceResource=end, destinations=[behind.pk]),
        rule_body(sources=[left.pk], destinations=[others.pk], action="drop"),
        rule_body(sources=[left.pk], destinations=[others.pk], enabled=False),
    ]
    ok(api.post("/api/policies", policy(rules=bodies)))
    ok(api.post("/api/policies", policy(enabled=False, rules=[of_all()])))
    ok(api.post("/api/routes", route(peer=c.pk, groups=[others.pk])))
    expected = {"a": ["b", "c"], "b": ["a"], "c": ["a"]}
    expected |= {"d": ["gw"], "gw": ["d"], "hid": []}
    # Whoever uses a route knows the name of its routing peer, which a policy has to let
    # it reach; routers of networks are reached without a name.
    names = expected | {"d": ["c"], "gw": []}
    for one in (a, b, c, d, gateway, hidden):
        assert reach(api, one) == expected[one.name], one.name
        config = ok(api.get(f"/api/peers/{one.pk}/dns"))
        seen = [entry["name"] for entry in config["visible_peers"]]
        assert seen == [one.name, *names[one.name]], one.name


def test_group_of_all_peers_needs_no_rows(api: Api):
    a, b = peer("a"), peer("b")
    ok(api.post("/api/policies", policy(rules=[of_all()])))
    assert (reach(api, a), reach(api, b)) == (["b"], ["a"])


def test_regular_users_see_their_own_peers_of_it():
    account_settings(regular_users_view_blocked=False)
    someone = person("user")
    mine, also_mine = (peer(name, user=someone) for name in ("mine", "also mine"))
    theirs = peer("theirs")
    everybody = group("everybody", mine, also_mine, theirs)
    rule([everybody], [everybody])
    api = api_of(someone)
    assert reach(api, mine) == ["also mine"]
    assert api.get(f"/api/peers/{theirs.pk}/accessible-peers").status == 404


def test_number_of_queries_does_not_depend_on_the_data(api: Api):
    a = peer("a")
    counts = []
    for size in (1, 20):
        for _ in range(size):
            rule([group("", a)], [group("", *peers(2))])
        reach(api, a)
        with CaptureQueriesContext(connection) as queries:
            reach(api, a)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 29


def test_many_reachable_peers_are_shown_like_few(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    a, hidden = peer("a"), peer("hidden")
    rule([group("left", a)], [group("right", *peers(3))])
    few = reach(api, a)
    monkeypatch.setattr("meshmgmt.explain.answers.FEW", 2)
    assert reach(api, a) == few
    assert hidden.name not in few
    assert len(few) == 3
