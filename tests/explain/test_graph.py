"""The access graph over HTTP and as a page."""

import pytest
from django.test import Client

from groups.models import Group
from meshmgmt.access.models import PolicyRule
from meshmgmt.core import clock
from meshmgmt.core.ids import new_id
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.factories import group, peer, peers, rule
from tests.people import api_as
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db
PAGE = "/admin/access/graph/"


@pytest.fixture
def sql() -> PolicyRule:
    """A rule that lets the peer `web` use the database of `db`."""
    web, db = peer("web"), peer("db")
    return rule(
        [group("webs", web)], [group("dbs", db)], protocol="tcp", ports=["5432"]
    )


def test_the_graph_is_asked_whole_or_about_one_thing(api: Api, sql: PolicyRule):
    rule([group("others", *peers(2))], [group("printers")])
    whole = ok(api.get("/api/access/graph"))
    assert len(whole["edges"]) == 2
    assert (whole["focus"], whole["left_out"]) == (None, {})
    db = Peer.objects.get(name="db")
    found = ok(api.get(f"/api/access/graph?focus={db.pk}"))
    assert found["focus"] == {"kind": "peer", "id": db.pk, "name": "db"}
    [edge] = found["edges"]
    named = {node["id"]: (node["name"], node["peers"]) for node in found["nodes"]}
    assert [named[id_] for id_ in edge["sources"]] == [("webs", 1)]
    assert [named[id_] for id_ in edge["destinations"]] == [("dbs", 1)]
    assert edge["policy"]["id"] == sql.policy_id
    assert (edge["rule"], edge["traffic"]) == (sql.pk, "TCP 5432")
    assert (edge["effect"], edge["state"]) == ("accept", "in_force")


def test_an_unknown_focus_is_not_found(api: Api, sql: PolicyRule):
    for focus in ("0" * 20, "dbs", "%00"):
        answer = api.get(f"/api/access/graph?focus={focus}")
        assert "group, peer, resource or policy" in answer.refused(404).message


def test_the_past_is_drawn_with_at(api: Api, sql: PolicyRule):
    moment = clock.rfc3339(clock.now())
    ok(api.delete(f"/api/policies/{sql.policy_id}"))
    assert ok(api.get("/api/access/graph"))["edges"] == []
    then = ok(api.get(f"/api/access/graph?at={moment}"))
    assert [edge["rule"] for edge in then["edges"]] == [sql.pk]


def test_who_may_not_read_policies_sees_no_graph(sql: PolicyRule):
    assert api_as("user").get("/api/access/graph").status == 403


def test_the_page_draws_what_its_table_says(sql: PolicyRule, client: Client):
    rule(
        [group("staff", peer("<b>"))], [group("servers")], action="drop", enabled=False
    )
    page = client.get(PAGE).content.decode()
    table, picture = page.split('class="graph-picture"', 1)
    for text in ("webs", "dbs", "TCP 5432", "drops everything", "disabled", "1 peer"):
        assert text in table
        assert text in picture
    assert "graph-line graph-disabled" in picture
    assert picture.count('marker-end="url(#graph-stop)"') == 1
    assert "<b>" not in page


@pytest.mark.parametrize("bidirectional", [True, False])
def test_where_either_may_begin_arrows_are_at_both_ends(
    client: Client, bidirectional: bool
):
    rule([group("a", peer("a"))], [group("b", peer("b"))], bidirectional=bidirectional)
    page = client.get(PAGE).content.decode()
    assert ("marker-start" in page) is bidirectional
    assert ("one way" in page) is not bidirectional


def test_the_page_looks_at_what_a_name_means(sql: PolicyRule, client: Client):
    twins = peer("twin"), group("twin")
    told = {
        "dbs": "Only what is about group <strong><bdi>dbs</bdi></strong>",
        "web": "Only what is about peer <strong><bdi>web</bdi></strong>",
        "nowhere": "no object is called “nowhere”",
        new_id(): "was not found",
        "twin": "“twin” fits several. Which one?",
    }
    for focus, text in told.items():
        assert text in client.get(f"{PAGE}?focus={focus}").content.decode()
    text = client.get(f"{PAGE}?focus=twin").content.decode()
    assert all(f'<a href="?focus={one.pk}">' in text for one in twins)


def test_the_page_of_a_policy_says_who_may_do_what_and_what_would_be_lost(
    sql: PolicyRule, client: Client
):
    page = f"/admin/access/policy/{sql.policy_id}/change/"
    text = client.get(page).content.decode()
    because, without = text.split("<h2>Without it</h2>", 1)
    for word in ("Who may do what because of it", "webs", "dbs", "TCP 5432"):
        assert word in because
    assert "webs may no longer begin TCP 5432 with dbs (1 pair)" in without
    rule(
        list(Group.objects.filter(name="webs")), list(Group.objects.filter(name="dbs"))
    )
    without = client.get(page).content.decode().split("<h2>Without it</h2>", 1)[1]
    assert "Nothing would change" in without


def test_the_form_of_a_new_policy_has_no_reach(sql: PolicyRule, client: Client):
    page = client.get("/admin/access/policy/add/")
    assert b"because of it" not in page.content
    assert b"focus=" not in page.content


def test_groups_come_in_the_order_in_which_they_were_made(api: Api):
    made = [group(name) for name in ("c", "a", "b")]
    made[0].name = "z"
    made[0].save()
    names = [node["name"] for node in ok(api.get("/api/access/graph"))["nodes"]]
    assert [name for name in names if name != "All"] == ["z", "a", "b"]
