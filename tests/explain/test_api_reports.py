"""What a peer gets, how it resolves, and what looks wrong, over HTTP."""

from typing import Any

import pytest

from groups.services import change_groups_of_peers
from meshmgmt.explain.answers import name_explanation
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, record, zone
from tests.factories import Trail, group_id, peer
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
    """Ask how the peer resolves a name."""
    return ok(api.get(f"/api/dns/explain?peer={peer}&name={name}&type={type_}"))


def test_peer_gets_zones_and_servers_with_reasons(api: Api, office: dict[str, str]):
    found = ok(api.get(f"/api/peers/{office['peer']}/dns"))
    assert found["managed"]
    assert [z["domain"] for z in found["zones"]] == ["mesh.internal", "company.com"]
    assert found["zones"][1]["reason"]["text"] == "the peer is in group staff"
    assert [g["name"] for g in found["nameserver_groups"]] == ["office", "public"]
    assert [s["domain"] for s in found["search_domains"]] == [
        "mesh.internal",
        "company.com",
    ]
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
    contents = [r["content"] for r in local["records"]]
    assert contents == ["wiki.company.com", "10.0.0.7"]
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
    assert [q["name"] for q in found["queries"]] == [
        "wiki.mesh.internal",
        "wiki.company.com",
    ]
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
    assert finding["severity"] == "warning"
    assert finding["object"]["name"] == "Empty"
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
