"""Whether a peer reaches something, over HTTP, as a command and as a page."""

import html
import io
import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from events.streams import batches
from events.streams.catalogue import TRAFFIC
from meshmgmt.access.models import Policy, PolicyRule
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.access.bodies import policy as policy_body
from tests.access.bodies import rule as rule_body
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.dns import bodies
from tests.events.samples import traffic
from tests.factories import account_settings, group, peer, resource
from tests.people import api_of, person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def database(api: Api) -> Peer:
    """A server whose PostgreSQL the peer `web` may use, and nobody else."""
    web = peer("web", ip="100.64.7.1")
    db = peer("db", ip="100.64.7.2", dns_label="db-1")
    ends = {"sources": [group("webs", web).pk], "destinations": [group("dbs", db).pk]}
    sql = rule_body(name="sql", ports=["5432"], **ends)
    ok(api.post("/api/policies", policy_body(name="web to db", rules=[sql])))
    return db


SQL = "&protocol=tcp&port=5432"


def explain(api: Api, source: str, destination: str, query: str = "") -> Any:
    ends = f"source={source}&destination={quote(destination)}"
    return api.get(f"/api/access/explain?{ends}{query}")


def web() -> Peer:
    return Peer.objects.get(name="web")


def test_plan_answers_before_and_after(api: Api, database: Peer):
    policy = api.get("/api/policies").json[0]["id"]
    ends = f"source={web().pk}&destination={database.pk}&protocol=tcp&port=5432"
    path = f"/api/policies/{policy}?dry_run=true&{ends}"
    answer = api.delete(path).json
    before, after = (answer["plan"]["explain"][when] for when in ("before", "after"))
    assert before == explain(api, web().pk, database.pk, SQL).json
    assert before["verdict"] == "allowed"
    assert (after["verdict"], after["path"]) == ("blocked", None)
    gone = api.delete(f"/api/peers/{database.pk}?dry_run=true&{ends}").json
    assert gone["plan"]["explain"]["after"] is None
    unasked = api.delete(f"/api/policies/{policy}?dry_run=true").json
    assert "explain" not in unasked["plan"]
    assert unasked["plan_hash"] == answer["plan_hash"]  # asking changes no plan


def test_plan_of_a_zone_file_that_changes_nothing_answers_too(api: Api, database: Peer):
    zone = ok(api.post("/api/dns/zones", bodies.zone()))["id"]
    ends = f"source={web().pk}&destination={database.pk}{SQL}"
    path = f"/api/dns/zones/{zone}/zonefile?mode=merge&dry_run=true&{ends}"
    told = ok(api.call("PUT", path, b""))["plan"]["explain"]
    assert told["before"] == told["after"]
    assert told["before"]["verdict"] == "allowed"


def test_plan_refuses_what_is_no_question(api: Api, database: Peer):
    source, destination = f"source={web().pk}", "destination=100.64.0.1"
    questions = {
        f"source=&{destination}": 400,
        destination: 400,
        source: 400,
        f"{source}&{destination}&port=22": 422,
        f"{source}&{destination}&protocol=gre": 400,
        f"{source}&destination=fe80::1%25eth0": 400,
    }
    for asked, status in questions.items():
        answer = api.delete(f"/api/peers/{database.pk}?dry_run=true&{asked}")
        assert answer.status == status, asked
    assert Peer.objects.filter(pk=database.pk).exists()


def test_the_answer_names_the_rule_that_lets_it_through(api: Api, database: Peer):
    found = ok(explain(api, web().pk, database.pk, SQL))
    rule = PolicyRule.objects.get(name="sql")
    policy = {"kind": "policy", "id": rule.policy_id, "name": "web to db"}
    because = {"policy": policy, "rule": rule.pk, "effect": "accept"}
    because["text"] = "policy web to db lets TCP 5432 through"
    db = {"kind": "peer", "id": database.pk, "name": "db"}
    offline = {"kind": "offline", "object": db, "text": "peer db is not connected"}
    assert found == {
        "source": {"kind": "peer", "id": web().pk, "name": "web"},
        "destination": db,
        "protocol": "tcp",
        "port": 5432,
        "verdict": "allowed",
        "path": "direct",
        "via": [],
        "because": [because],
        "obstacles": [offline | {"remedy": "start peer db"}],
    }


def test_addresses_and_names_of_peers_are_peers(api: Api, database: Peer):
    default = account_settings(dns_domain="").peers_domain
    found = ok(explain(api, web().pk, f"db-1.{default}"))
    assert found["destination"]["id"] == database.pk
    account_settings(dns_domain="mesh.internal")
    for text in ("100.64.7.2", "db-1.mesh.internal", "db-1", "DB-1."):
        found = ok(explain(api, web().pk, text, SQL))
        assert found["destination"]["id"] == database.pk, text
        assert found["verdict"] == "allowed"


def test_all_is_asked_by_default_and_its_parts_are_obstacles(api: Api, database: Peer):
    found = ok(explain(api, web().pk, database.pk))
    assert (found["protocol"], found["port"]) == ("all", None)
    assert found["verdict"] == "blocked"
    assert found["because"][0]["text"] == "policy web to db lets TCP 5432 through"
    assert found["obstacles"][0]["kind"] == "part"


def test_what_is_in_the_way_is_told_with_a_verdict(api: Api, database: Peer):
    """Only sources may begin, and a domain may be routed by nothing."""
    found = ok(explain(api, database.pk, web().pk))
    assert found["verdict"] == "blocked"
    assert found["obstacles"][0]["kind"] == "direction"
    found = ok(explain(api, web().pk, "www.nowhere.test"))
    assert (found["verdict"], found["path"]) == ("blocked", None)
    assert [each["kind"] for each in found["obstacles"]] == ["unrouted"]


NOBODY = "0" * 20


def test_questions_that_make_no_sense_are_refused(api: Api, database: Peer):
    source, to_itself = f"source={database.pk}", f"destination={database.pk}"
    both = f"{source}&{to_itself}"
    refused = {
        f"source={NOBODY}&{to_itself}": (404, "peer"),
        f"source=web&{to_itself}": (404, "peer"),
        f"{source}&destination={NOBODY}": (404, "peer or resource"),
        f"{both}&port=22": (422, "port"),
        f"{both}&protocol=icmp&port=22": (422, "port"),
        f"{both}&protocol=gre": (400, "protocol"),
        f"{both}&protocol=tcp&port=0": (400, "port"),
        f"{both}&protocol=tcp&port=65536": (400, "port"),
        f"{both}&protocol=tcp&port=ssh": (400, "port"),
        f"{source}&destination=10.0.0.0/24": (400, "destination"),
        f"{source}&destination=a%00b": (400, "destination"),
        source: (400, "destination"),
        to_itself: (400, "source"),
    }
    for asked, (status, text) in refused.items():
        answer = api.get(f"/api/access/explain?{asked}")
        assert answer.status == status, asked
        assert text in answer.json["message"], asked


def test_who_may_not_read_policies_may_not_ask(database: Peer):
    somebody = person("user")
    api = api_of(somebody)
    assert explain(api, database.pk, database.pk).status == 403
    tokens = f"/api/users/{somebody.pk}/tokens?dry_run=true"
    body = {"name": "t", "expires_in": 9}
    assert api.post(tokens, body).status == 200
    ends = f"source={database.pk}&destination={database.pk}"
    assert api.post(f"{tokens}&{ends}", body).status == 403


def test_a_resource_behind_a_routing_peer(api: Api, database: Peer):
    made = resource("files", address="10.9.0.4/32")
    path = f"/api/networks/{made.network_id}"
    router = {"peer": database.pk, "metric": 9, "masquerade": True, "enabled": True}
    ok(api.post(f"{path}/routers", router))
    before = ok(explain(api, web().pk, made.pk))
    assert [each["kind"] for each in before["obstacles"]] == ["no_policy"]
    rule = PolicyRule.objects.get(name="sql")
    policy = ok(api.get(f"/api/policies/{rule.policy_id}"))
    [body] = policy["rules"]
    target = {"id": made.pk, "type": "host"}
    aimed = {"destinations": None, "destinationResource": target}
    changed = {**policy, "rules": [{**body, **aimed}], "source_posture_checks": []}
    ok(api.put(f"/api/policies/{rule.policy_id}", changed))
    for text in (made.pk, "10.9.0.4"):
        found = ok(explain(api, web().pk, text, SQL))
        assert (found["verdict"], found["path"]) == ("allowed", "routed")
        [via] = found["via"]
        assert via["peer"]["id"] == database.pk
        assert via["route"] == {"kind": "resource", "id": made.pk, "name": "files"}
        assert via["verdict"] == "allowed"
        assert via["because"] == found["because"]


def test_the_past_is_asked_with_at(api: Api, database: Peer):
    moment = str(clock.rfc3339(clock.now()))
    policy = PolicyRule.objects.get(name="sql").policy_id
    ok(api.delete(f"/api/policies/{policy}"))
    assert ok(explain(api, web().pk, database.pk, SQL))["verdict"] == "blocked"
    then = ok(explain(api, web().pk, database.pk, f"{SQL}&at={moment}"))
    assert then["verdict"] == "allowed"
    assert then["obstacles"] == []  # who was connected then is not known
    options = "--protocol=tcp", "--port=5432", "--at", moment
    assert "allowed" in run(0, "web", "db", *options)


def test_a_login_that_ended_since_was_valid_then(api: Api, database: Peer):
    account_settings(peer_login_expiration_enabled=True, peer_login_expiration=3600)
    begin = clock.now()
    late = peer(
        "late", user=person("user"), login_expiration_enabled=True, last_login=begin
    )
    moment = str(clock.rfc3339(clock.now()))
    with clock.set_to(begin + timedelta(minutes=90)):
        kinds = [
            {each["kind"] for each in ok(asked)["obstacles"]}
            for at in ("", f"&at={moment}")
            for asked in [explain(api, late.pk, database.pk, at)]
        ]
    assert ["login_expired" in each for each in kinds] == [True, False]


def run(status: int, *arguments: str) -> str:
    """Run the command, which must end with a status, and return what it prints."""
    out = io.StringIO()
    code: Any = 0
    try:
        call_command("reach", *arguments, stdout=out)
    except SystemExit as stopped:
        code = stopped.code
    except CommandError as error:
        code = error.returncode
        out.write(str(error))
    assert code == status, out.getvalue()
    return out.getvalue()


def test_the_command_tells_by_its_status(database: Peer):
    for destination in ("db", "100.64.7.2", "db-1"):
        ends = ("web", destination, "--protocol", "tcp", "--port")
        allowed = "web to db, TCP 5432: allowed, directly\n"
        assert run(0, *ends, "5432").startswith(allowed)
        assert "-> add TCP 22 to policy web to db" in run(1, *ends, "22")
    assert json.loads(run(1, database.pk, "web", "--json"))["verdict"] == "blocked"


def test_the_command_finds_resources_by_name_and_ends_with_two_for_what_it_knows_not(
    database: Peer,
):
    peer("twin")
    peer("twin")
    resource("file store")
    blocked = "web to file store, everything: blocked"
    assert run(1, "web", "file store").startswith(blocked)
    unknown = {
        ("nobody", "db"): "no peer is known as 'nobody'",
        ("web", "nobody"): "'nobody' was not found",
        ("web", NOBODY): "was not found",
        ("twin", "db"): "several peers are known as 'twin'",
    }
    for arguments, text in unknown.items():
        assert text in run(2, *arguments)


PAGE = "/admin/access/reach/"


def test_the_page_says_yes_or_no_first_and_links_what_decides(
    database: Peer, client: Client
):
    empty = client.get(PAGE).content.decode()
    assert empty.count(f'data-names="{PAGE}names/"') == 2
    assert "What decides" not in empty
    asked = f"{PAGE}?source=web&destination=db&protocol=tcp&port="
    page = client.get(f"{asked}5432").content.decode()
    policy = PolicyRule.objects.get(name="sql").policy_id
    link = f'<a href="/admin/access/policy/{policy}/change/"><bdi>web to db</bdi></a>'
    assert page.index("<h2>Yes</h2>") < page.index(link)
    page = client.get(f"{asked}22").content.decode()
    assert "<h2>No</h2>" in page
    assert f"add TCP 22 to policy {link}" in page


def test_names_are_suggested_with_what_they_are(database: Peer, client: Client):
    group("all db")
    resource("db files", address="")
    with account_write():
        policy = Policy.objects.get(name="web to db")
        policy.name = "db to web"
        policy.save()
    db, files = ["db", "peer, 100.64.7.2"], ["db files", "network resource"]
    groups = ["dbs", "group"], ["all db", "group"]
    expected = {
        "source": [["db", "100.64.7.2"]],
        "destination": [db, files],
        "focus": [db, groups[0], ["db to web", "policy"], files, groups[1]],
    }
    nobody = client_of(person("user"))
    for field, names in expected.items():
        path = f"{PAGE}names/?filter={field}&part=db"
        assert client.get(path).json() == names
        assert nobody.get(path).status_code in {302, 403}


def test_what_fits_exactly_and_some_of_each_kind_are_suggested(
    database: Peer, client: Client
):
    for number in range(15):
        peer(f"zz-{number:02}")
        group(f"zz-{number:02}")
    resource("zz", address="")
    found = client.get(f"{PAGE}names/?filter=focus&part=zz").json()
    assert found[0] == ["zz", "network resource"]
    kinds = [detail.partition(",")[0] for _, detail in found[1:]]
    assert len(kinds) == 11
    assert abs(kinds.count("peer") - kinds.count("group")) == 1


def test_the_page_says_what_is_wrong(database: Peer, client: Client):
    wrong = {
        "source=nobody&destination=db&protocol=all": "no peer is known as",
        "source=web&destination=nobody&protocol=all": "was not found",
        "source=web&destination=db&protocol=all&port=5": "only tcp and udp do",
        "source=web&destination=db&protocol=gre": "not one of the available choices",
        "source=&destination=db&protocol=all": "This field is required",
        "source=%3Cscript%3E&destination=db&protocol=all": "&lt;script&gt;",
    }
    for query, text in wrong.items():
        response = client.get(f"{PAGE}?{query}")
        assert response.status_code == 200
        assert text in response.content.decode(), query
        assert "<script>&" not in response.content.decode(), query


def test_an_explanation_asks_little_whatever_the_size(
    database: Peer, django_assert_max_num_queries: Any
):
    from meshmgmt.explain.reaching import destination_of, reach, traffic_of  # noqa: PLC0415

    with django_assert_max_num_queries(24):
        reach(web().pk, destination_of("10.1.1.1"), traffic_of("all", None))


def why_links(page: str) -> list[str]:
    found = re.findall(r'href="(/admin/access/reach/[^"]*)">([^<]*)', page)
    return [html.unescape(link) for link, text in found if "hy" in text]


def test_a_dropped_flow_asks_why_with_its_own_time_addresses_and_port(
    api: Api, database: Peer, client: Client
):
    moment = clock.rfc3339(clock.now())
    source = {"id": web().pk, "address": "100.64.7.1"}
    to = {"id": database.pk, "address": "100.64.7.2:22"}
    when = {"window_start": moment, "window_end": moment}
    flow = traffic(id="refused", num_of_drops=3, source=source, destination=to, **when)
    let_through = traffic(source=source)
    batches.ingest_events(TRAFFIC, [flow, let_through])
    rule = PolicyRule.objects.get()
    ok(api.delete(f"/api/policies/{rule.policy_id}"))
    flows = "/admin/events/trafficevent/"
    [link] = why_links(client.get(flows).content.decode())
    [same] = why_links(client.get(f"{flows}refused/change/").content.decode())
    assert link == same
    page = client.get(link).content.decode()
    assert "web to db, TCP 22: blocked on the way" in page
    # The policy that is gone was there at the time of the flow.
    assert "lets only TCP 5432 through" in page
    now = client.get(link.partition("&at=")[0]).content.decode()
    assert "lets only" not in now


def test_a_moment_that_cannot_be_is_said_beside_it(database: Peer, client: Client):
    ends = f"source=web&destination={database.pk}&protocol=all"
    for moment in ("soon", "2999-01-01T00:00:00Z", "1999-01-01T00:00:00Z"):
        page = client.get(f"{PAGE}?{ends}&at={moment}").content.decode()
        assert '<ul class="errorlist" id="id_at_error"><li>at: ' in page
        assert "What decides" not in page


def test_the_page_of_a_peer_says_whom_it_reaches_and_who_reaches_it(
    database: Peer, client: Client
):
    def both_parts(peer: Peer) -> list[str]:
        page = client.get(f"/admin/inventory/peer/{peer.pk}/change/")
        return page.content.decode().split("<h2>Is reached by", 1)

    reaches, reached_by = both_parts(web())
    [link] = re.findall(r'href="(/admin/access/reach/[^"]*port[^"]*)"', reaches)
    assert "Nobody, by any rule in force" in reached_by
    assert "<h2>Yes</h2>" in client.get(html.unescape(link)).content.decode()
    reaches, reached_by = both_parts(database)
    assert "Nobody, by any rule in force" in reaches
    assert html.unescape(link) in html.unescape(reached_by)


def test_the_page_of_a_peer_that_takes_no_part_says_so(client: Client):
    late = peer("late", approval_required=True)
    page = client.get(f"/admin/inventory/peer/{late.pk}/change/")
    assert "It takes no part now" in page.content.decode()
