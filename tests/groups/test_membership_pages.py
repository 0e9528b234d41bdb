"""Actions on peers that change their groups: choice, preview, change."""

from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from groups.models import Issued
from groups.selectors import all_group_id
from groups.services import change_groups_of_peers
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import client_of, looked_up, texts_of
from tests.factories import Trail, group, members_of, peer, peers
from tests.people import person

pytestmark = pytest.mark.django_db

PEERS = "/admin/inventory/peer/"


def act(
    client: Client, action: str, peers: list[Peer], path: str = PEERS, **sent: Any
) -> Any:
    """Send what the list, or the page after it, sends for an action."""
    ids = [made.pk for made in peers]
    return client.post(path, {"action": action, ACTION_CHECKBOX_NAME: ids, **sent})


def confirmed(
    client: Client, action: str, peers: list[Peer], path: str = PEERS, **sent: Any
) -> Any:
    """Look at the preview of an action, then do it."""
    sent = {"chosen": "1", **sent}
    preview = act(client, action, peers, path, **sent)
    assert preview.status_code == 200
    mark = preview.context["plan"].mark
    return act(client, action, peers, path, **sent, apply="1", shown=mark)


def test_the_preview_says_who_would_join_and_writes_nothing(client: Client):
    made = peers(30)
    team = group("team", *made[:5])
    trail = Trail()

    page = act(client, "add_to_group", made, chosen="1", join=[team.pk])

    text = page.content.decode()
    assert "25 peers would\n      join" in text
    assert "5\n        are\n        in it already" in text
    assert made[5].name in text
    assert made[24].name in text
    assert made[25].name not in text
    assert "and 5 more" in text
    assert "Change 25 memberships" in text
    assert trail.codes == []


def test_peers_join_at_the_end_with_an_event_each_and_the_message_links(client: Client):
    made = peers(6)
    team = group("team", *made[:2])
    trail = Trail()

    done = confirmed(client, "add_to_group", made, join=[team.pk])

    assert done.status_code == 302
    assert members_of(team) == [one.pk for one in made]
    assert trail.targets == [("peer.group.add", one.pk) for one in made[2:]]
    told = texts_of(done)
    assert "4 peers joined" in told
    assert "(2 were in it)" in told
    assert f'href="/admin/groups/group/{team.pk}/members/"' in told
    request_id = trail.events[0].request_id
    trail_link = f'href="/admin/events/auditevent/?search={request_id}"'
    assert trail_link in client.get(PEERS).content.decode()


def test_all_pages_are_taken_when_all_are_selected(client: Client):
    made = peers(70)
    others = peer("laptop", dns_label="laptop")
    team, path = group("team"), f"{PEERS}?q=peer"
    sent: dict[str, Any] = {"join": [team.pk], "select_across": "1"}

    done = confirmed(client, "add_to_group", made[:1], path, **sent)

    assert done["Location"] == path
    assert members_of(team) == [one.pk for one in made]
    assert others.pk not in members_of(team)


def test_moving_leaves_one_group_and_joins_another(client: Client):
    one, two, three = peers(3)
    old, new = group("old", one, two, three), group("new", two)
    trail = Trail()

    confirmed(client, "move_to_group", [one, two], leave=[old.pk], join=[new.pk])

    assert members_of(old) == [three.pk]
    assert members_of(new) == [two.pk, one.pk]
    assert sorted(trail.codes) == ["peer.group.add", *["peer.group.delete"] * 2]


@pytest.mark.parametrize("query", ["group={}", "q=old", ""])
def test_the_group_they_leave_is_known_from_the_list(client: Client, query: str):
    made = peers(2)
    old = group("old", *made)
    if query:
        group("shared too", *made)
    path = f"{PEERS}?{query.format(old.pk)}"

    page = act(client, "move_to_group", made, path)

    assert page.context["form"]["leave"].initial == [old.pk]
    assert "2 peers would\n      leave" in page.content.decode()


def test_a_change_meanwhile_is_shown_before_anything_is_done(client: Client):
    made = peers(3)
    team = group("team")
    sent: dict[str, Any] = {"chosen": "1", "join": [team.pk]}
    preview = act(client, "add_to_group", made, **sent)
    change_groups_of_peers([made[0].pk], join=[team.pk])
    mark = preview.context["plan"].mark

    late = act(client, "add_to_group", made, **sent, apply="1", shown=mark)

    assert "somebody changed these peers or groups meanwhile" in late.content.decode()
    assert members_of(team) == [made[0].pk]
    mark = late.context["plan"].mark
    again = act(client, "add_to_group", made, **sent, apply="1", shown=mark)
    assert again.status_code == 302
    assert len(members_of(team)) == 3


def test_a_peer_deleted_meanwhile_is_noticed(client: Client):
    made = peers(2)
    team = group("team")
    sent: dict[str, Any] = {"chosen": "1", "join": [team.pk]}
    mark = act(client, "add_to_group", made, **sent).context["plan"].mark
    made[0].delete()

    late = act(client, "add_to_group", made, **sent, apply="1", shown=mark)

    assert late.status_code == 200
    assert members_of(team) == []


def test_a_group_cannot_be_left_and_joined_at_once(client: Client):
    made, both = peers(1), [group("team").pk]
    sent: dict[str, Any] = {"chosen": "1", "leave": both, "join": both, "apply": "1"}

    page = act(client, "move_to_group", made, **sent)

    assert "a group cannot be left and joined at once" in page.content.decode()


def test_nobody_can_be_added_to_all(client: Client):
    page = act(client, "add_to_group", peers(1), chosen="1", join=[all_group_id()])

    assert page.context["plan"].changes == 0
    assert 'name="apply"' not in page.content.decode()


def test_groups_on_offer_are_those_that_people_fill(client: Client):
    wanted = group("team")
    group("of claims", issued=Issued.JWT)

    def offered(model: str) -> set[str]:
        return {each["text"] for each in looked_up(client, model, "group")}

    assert offered("grouppeer") == {wanted.name}
    assert offered("groupresource") == {"All", "team", "of claims"}


@pytest.mark.parametrize(
    ("role", "may"), [("auditor", False), ("network_admin", True), ("admin", True)]
)
def test_who_may_change_groups_may_use_the_actions(role: str, *, may: bool):
    client = client_of(person(role))
    made, team = peers(1), group("team")

    confirm = act(client, "add_to_group", made, chosen="1", join=[team.pk])

    assert ("plan" in (confirm.context or {})) is may
    assert ("add_to_group" in client.get(PEERS).content.decode()) is may


def test_hostile_names_are_shown_as_text(client: Client):
    bad = peer("<script>alert(1)</script>")
    team = group("<b>team</b>")

    page = act(client, "add_to_group", [bad], chosen="1", join=[team.pk])
    text = page.content.decode()
    done = confirmed(client, "add_to_group", [bad], join=[team.pk])

    assert "<script>alert" not in text
    assert "<b>team" not in text
    assert "<b>team" not in texts_of(done)


def test_the_work_does_not_grow_with_the_selection(client: Client):
    def queries(number: int) -> int:
        made, team = peers(number), group()
        client.get(PEERS)  # reads what is said of the writes before
        with CaptureQueriesContext(connection) as captured:
            confirmed(client, "add_to_group", made, join=[team.pk])
        return len(captured)

    few = queries(3)
    assert queries(60) <= few + 3  # rows are written in parts
