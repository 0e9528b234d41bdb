"""What a peer gets and reaches, how it resolves, and what looks wrong, over HTTP."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from groups.selectors import all_group_id
from groups.services import change_groups_of_peers
from meshmgmt.explain.answers import name_explanation
from meshmgmt.inventory.models import Peer
from tests.access.bodies import policy, route
from tests.access.bodies import rule as rule_body
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, record, zone
from tests.factories import (
    Trail,
    account_settings,
    group,
    group_id,
    network,
    peer,
    peers,
    rule,
)
from tests.people import api_of, person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def new_peer(number: int, *groups: str) -> str:
    """Create a peer in the groups and return its id."""
    made = peer(
        f"peer {number}",
        ip=f"100.64.0.{number}",
        dns_label=f"host{number}",
        extra_dns_labels=[f"alias{number}"],
    )
    change_groups_of_peers([made.pk], join=list(groups))
    return made.pk


@pytest.fixture
def office(api: Api) -> dict[str, str]:
    """An account with a zone, match-domain servers, primary servers and two peers."""
    staff = group_id("staff")
    company = zone(domain="company.com", enable_search_domain=True)
    company["distribution_groups"] = [staff]
    made = ok(api.post("/api/dns/zones", company))
    records = f"/api/dns/zones/{made['id']}/records"
    for name, type_, content in (
        ("wiki.company.com", "A", "10.0.0.7"),
        ("docs.company.com", "CNAME", "wiki.company.com"),
    ):
        ok(api.post(records, record(name=name, type=type_, content=content)))
    for name, domains, ips in (
        ("office", ["company.com", "partner.example"], ["10.0.0.53"]),
        ("public", [], ["9.9.9.9", "149.112.112.112"]),
    ):
        servers = [{"ip": ip} for ip in ips]
        body = nameserver_group(name=name, groups=[staff], nameservers=servers)
        body |= {"domains": domains, "primary": not domains}
        ok(api.post("/api/dns/nameservers", body))
    return {"staff": staff, "peer": new_peer(1, staff), "outsider": new_peer(2)}


def explain(api: Api, peer: str, name: str, type_: str = "A") -> Any:
    return ok(api.get(f"/api/dns/explain?peer={peer}&name={name}&type={type_}"))


def test_peer_gets_zones_and_servers_with_reasons(api: Api, office: dict[str, str]):
    found = ok(api.get(f"/api/peers/{office['peer']}/dns"))
    assert found["managed"]
    assert [z["domain"] for z in found["zones"]] == ["mesh.internal", "company.com"]
    assert found["zones"][1]["reason"]["text"] == "the peer is in group staff"
    assert [g["name"] for g in found["nameserver_groups"]] == ["office", "public"]
    searched = [each["domain"] for each in found["search_domains"]]
    assert searched == ["mesh.internal", "company.com"]
    assert found["excluded"] == []
    outside = ok(api.get(f"/api/peers/{office['outsider']}/dns"))
    reasons = {e["name"]: e["reasons"][0]["code"] for e in outside["excluded"]}
    assert reasons == dict.fromkeys(["Services", "office", "public"], "no_shared_group")


def test_disabled_group_leaves_peer_unmanaged(api: Api, office: dict[str, str]):
    settings = {"disabled_management_groups": [office["staff"]]}
    ok(api.put("/api/dns/settings", settings))
    found = ok(api.get(f"/api/peers/{office['peer']}/dns"))
    assert not found["managed"]
    assert found["reason"]["subjects"] == ["group staff"]
    assert found["zones"] == found["nameserver_groups"] == []
    answer = explain(api, office["peer"], "wiki.company.com")
    assert answer["outcome"]["kind"] == "system"


def test_order_of_resolution_is_the_seeds(api: Api, office: dict[str, str]):
    """Zones, then servers of the domain, then primary servers, then the system's."""
    peer = office["peer"]
    local = explain(api, peer, "docs.company.com")["outcome"]
    assert local["kind"] == "answer"
    assert [r["content"] for r in local["records"]] == ["wiki.company.com", "10.0.0.7"]
    nodata = explain(api, peer, "wiki.company.com", "AAAA")["outcome"]
    assert nodata["kind"] == "nodata"
    matched = explain(api, peer, "other.company.com")["outcome"]
    assert matched["kind"] == "forwarded"
    assert [s["ip"] for s in matched["servers"]] == ["10.0.0.53"]
    primary = explain(api, peer, "www.example.org")["outcome"]
    assert [s["ip"] for s in primary["servers"]] == ["9.9.9.9", "149.112.112.112"]
    system = explain(api, office["outsider"], "www.example.org")["outcome"]
    assert system["kind"] == "system"


def test_short_name_resolves_as_if_the_domain_were_appended(
    api: Api, office: dict[str, str]
):
    found = explain(api, office["peer"], "wiki")
    queries = [query["name"] for query in found["queries"]]
    assert queries == ["wiki.mesh.internal", "wiki.company.com"]
    assert found["queries"][1]["source"]["name"] == "Services"
    assert found["outcome"]["records"][0]["content"] == "10.0.0.7"


def test_peer_that_cannot_be_reached_is_named(api: Api, office: dict[str, str]):
    out_of_reach = {"host2": ["peer 2"], "alias2": ["peer 2"], "nobody": []}
    for label, names in out_of_reach.items():
        found = explain(api, office["peer"], f"{label}.mesh.internal")
        assert found["outcome"]["kind"] == "nxdomain"
        steps = found["queries"][0]["legs"][0]["steps"]
        hidden = [step for step in steps if step["code"] == "peer_not_reachable"]
        assert [step["object"]["name"] for step in hidden] == names


def test_bad_question_is_refused_clearly(api: Api):
    known = f"peer={new_peer(1)}"
    refused = {
        "": (400, "peer"),
        known: (400, "name"),
        f"{known}&name=": (400, "name"),
        f"{known}&name=a..b": (400, "empty"),
        f"{known}&name={'a' * 300}": (400, "255"),
        f"{known}&name=a%00b": (400, "not valid"),
        f"{known}&name=a.test&type=MX": (400, "MX"),
        "peer=nobody&name=a.test": (404, "not found"),
        f"peer={'0' * 20}&name=a.test": (404, "not found"),
    }
    for query, (status, text) in refused.items():
        answer = api.get(f"/api/dns/explain?{query}")
        assert answer.status == status, query
        assert text in answer.json["message"], query


def test_lint_names_object_and_remedy(api: Api, office: dict[str, str]):
    ok(api.post("/api/dns/zones", zone(domain="empty.test", name="Empty")))
    findings = api.get("/api/dns/lint").json
    [finding] = [f for f in findings if f["code"] == "zone_empty"]
    assert (finding["severity"], finding["object"]["name"]) == ("warning", "Empty")
    assert finding["message"]
    assert finding["remedy"]


def test_questions_change_nothing(api: Api, office: dict[str, str]):
    trail = Trail()
    explain(api, office["peer"], "wiki")
    api.get("/api/dns/lint")
    api.get(f"/api/peers/{office['peer']}/dns")
    assert trail.events == []


def test_explanation_reads_the_account_twice_at_most(
    office: dict[str, str], django_assert_max_num_queries: Any
):
    for name in ("wiki", "www.example.org", "host2.mesh.internal"):
        with django_assert_max_num_queries(37):
            name_explanation(office["peer"], name)


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
    row: dict[str, Any] = {"id": b.pk, "name": "b", "ip": b.ip, "ipv6": "fd00::1"}
    row |= {"dns_label": "b.mesh.internal", "user_id": b.user_id, "connected": False}
    row |= {"country_code": "", "city_name": "", "geoname_id": 0, "os": "Debian 12"}
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
