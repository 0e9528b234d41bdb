"""The members of a group: a list to search and remove from, and ways to add more."""

from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.test import Client

from groups.admin import members as pages
from groups.models import Group
from groups.selectors import all_group_id
from meshmgmt.inventory.models import Peer
from tests.accesstests.world import promise
from tests.admin.signed_in import client_of, texts_of
from tests.factories import (
    Trail,
    account_settings,
    group,
    members_of,
    peer,
    peers,
    rule,
)
from tests.people import person

pytestmark = pytest.mark.django_db


def at(of: Group, page: str = "") -> str:
    return f"/admin/groups/group/{of.pk}/members/{page}"


def listed(response: Any) -> list[str]:
    return [one.pk for one in response.context["cl"].result_list]


def pasted(client: Client, into: Group, text: str, shown: Any = None) -> Any:
    """Send a list; once more, after a page that shows what of it is clear, for that."""
    how = {"rest": shown.context["plan"].mark} if shown else {"add": "1"}
    return client.post(at(into, "paste/"), {"peers": text, **how})


def test_the_lists_hold_who_is_in_and_who_is_not(client: Client):
    inside, outside = peer("kitchen"), peer("office")
    team = group("team", inside)

    assert listed(client.get(at(team))) == [inside.pk]
    assert listed(client.get(at(team), {"q": "KITCH"})) == [inside.pk]
    assert listed(client.get(at(team), {"q": "office"})) == []
    assert listed(client.get(at(team, "choose/"))) == [outside.pk]


def test_members_of_all_are_the_peers(client: Client):
    found = client.get(f"/admin/groups/group/{all_group_id()}/members/")

    assert found["Location"] == "/admin/inventory/peer/"


@pytest.mark.parametrize(
    ("page", "action", "word"),
    [("", "remove_members", "leave"), ("choose/", "add_members", "join")],
)
def test_all_that_match_are_removed_or_added_at_once(
    client: Client, page: str, action: str, word: str
):
    made = [peer(f"printer {n}") for n in range(60)]
    other = peer("laptop")
    team = group("team", *([*made, other] if word == "leave" else []))
    path = f"{at(team, page)}?q=printer"
    sent = {"action": action, ACTION_CHECKBOX_NAME: [made[0].pk], "select_across": "1"}
    trail = Trail()

    preview = client.post(path, sent)
    assert f"60 peers would\n      {word}" in preview.content.decode()
    assert trail.codes == []
    sent |= {"apply": "1", "shown": preview.context["plan"].mark}
    done = client.post(path, sent)

    assert done["Location"] == (path if word == "leave" else at(team))
    left = [other.pk] if word == "leave" else [one.pk for one in made]
    assert members_of(team) == left
    assert len(trail.codes) == 60


def test_a_pasted_list_is_added(client: Client):
    one, two, three = peers(3)
    team = group("team", three)
    trail = Trail()
    text = f"{one.name}\n\n{two.ip}\r\n{two.dns_label}\n{three.pk}"

    done = pasted(client, team, text)

    assert done["Location"] == at(team)
    assert members_of(team) == [three.pk, one.pk, two.pk]
    assert trail.codes == ["peer.group.add"] * 2
    told = texts_of(done)
    assert told.startswith("2 joined ")
    assert ", 1 were in it" in told


def test_full_names_are_found_where_no_domain_is_chosen(client: Client):
    one, team = peer("laptop", dns_label="desk"), group("team")
    domain = account_settings(dns_domain="").peers_domain

    pasted(client, team, f"desk.{domain}")

    assert members_of(team) == [one.pk]


def test_nothing_is_added_while_a_line_is_unclear(client: Client):
    one, two = peer("printer", dns_label="printer"), peer("printer", dns_label="p2")
    three = peer("laptop")
    team = group("team")
    trail = Trail()
    text = "printer\nlaptop\n<b>who</b>"

    page = pasted(client, team, text)

    shown = page.content.decode()
    assert "Nothing was added yet" in shown
    assert "<bdi>&lt;b&gt;who&lt;/b&gt;</bdi>" in shown
    assert f"({one.ip})" in shown
    assert f"({two.ip})" in shown
    assert trail.codes == []
    assert pasted(client, team, text, page).status_code == 302
    assert members_of(team) == [three.pk]


def test_the_rest_is_added_only_as_it_was_shown(client: Client):
    one, two = peer("one"), peer("two")
    team = group("team")
    text = "one\ntwo\nwho"
    page = pasted(client, team, text)
    two.delete()

    late = pasted(client, team, text, page)

    assert late.status_code == 200
    assert members_of(team) == []
    pasted(client, team, text, late)
    assert members_of(team) == [one.pk]


@pytest.mark.parametrize("text", ["", " \n ", "who"])
def test_a_list_without_peers_adds_nobody(client: Client, text: str):
    page = pasted(client, group("team"), text)

    assert page.status_code == 200
    assert 'name="rest"' not in page.content.decode()


@pytest.mark.parametrize(
    ("role", "look", "write"),
    [("auditor", 200, 403), ("network_admin", 200, 200), ("admin", 200, 200)],
)
def test_role_decides(role: str, look: int, write: int):
    client, team = client_of(person(role)), group("team", *peers(1))

    assert client.get(at(team)).status_code == look
    assert client.get(at(team, "paste/")).status_code == write
    assert client.get(at(team, "choose/")).status_code == write


def test_there_are_no_members_of_a_group_that_is_not_there(client: Client):
    assert client.get("/admin/groups/group/nope/members/").status_code == 404


def test_a_group_that_goes_while_a_list_is_looked_up_is_not_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    one, team = peer("one"), group("team")
    look_up = pages._resolved

    def resolved(text: str) -> Any:
        team.delete()
        return look_up(text)

    monkeypatch.setattr(pages, "_resolved", resolved)

    assert pasted(client, team, one.name).status_code == 404


def test_all_takes_nobody(client: Client):
    path = f"/admin/groups/group/{all_group_id()}/members/paste/"

    assert client.post(path, {"peers": peer().name}).status_code == 403


@pytest.mark.parametrize(("role", "offered"), [("auditor", False), ("admin", True)])
def test_pages_offer_what_one_may_do(role: str, *, offered: bool):
    client, team = client_of(person(role)), group("team", *peers(1))

    form = client.get(f"/admin/groups/group/{team.pk}/change/").content.decode()
    members_page = client.get(at(team)).content.decode()
    assert (at(team, "paste/") in form) is offered
    assert (at(team, "paste/") in members_page) is offered
    assert ("remove_members" in members_page) is offered


@pytest.fixture
def closed() -> tuple[Group, Peer]:
    """Servers, and a guest of whom an enforced test says that they never reach them."""
    guest, server = peer("guest"), peer("db-01")
    servers, staff = group("servers", server), group("staff")
    rule([staff], [servers])
    promise("apart", guest, servers, "never", enforce=True)
    return staff, guest


def test_a_refused_list_stays_and_says_why(client: Client, closed: tuple[Group, Peer]):
    staff, guest = closed
    page = pasted(client, staff, guest.name)
    assert page.status_code == 200
    assert "access test &#x27;apart&#x27; would fail" in page.content.decode()
    assert f">\n{guest.name}</textarea>" in page.content.decode()
    assert members_of(staff) == []


def test_of_a_refused_choice_nothing_is_said_to_be_done(
    client: Client, closed: tuple[Group, Peer]
):
    staff, guest = closed
    asked = {"action": "add_members", "_selected_action": [guest.pk], "chosen": "1"}
    preview = client.post(at(staff, "choose/"), asked)
    mark = preview.context["plan"].mark
    done = client.post(at(staff, "choose/"), {**asked, "apply": "1", "shown": mark})
    assert "would fail" in texts_of(done)
    assert "joined" not in texts_of(done)
    assert members_of(staff) == []
