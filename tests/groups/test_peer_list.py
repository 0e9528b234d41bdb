"""The list of peers in the admin site answers: is it online, where, and whose."""

import datetime as dt
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from groups.selectors import all_group_id
from meshmgmt.core import clock
from meshmgmt.inventory.admin.peerlist import badges
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.standing import BLOCKED, EXPIRED, PENDING
from tests.admin.signed_in import client_of, form_data, looked_up
from tests.factories import Trail, group, peer, peers
from tests.people import person

pytestmark = pytest.mark.django_db

PEERS = "/admin/inventory/peer/"
NOW = dt.datetime(2026, 5, 6, 12, tzinfo=dt.UTC)


def listed(response: Any) -> list[str]:
    return sorted(one.pk for one in response.context["cl"].result_list)


def ago(**length: int) -> dict[str, Any]:
    return {"last_seen": NOW - dt.timedelta(**length)}


@pytest.mark.parametrize(
    ("facts", "reason", "shown"),
    [
        ({"connected": True, **ago(days=2)}, "", ["ok connected"]),
        ({}, "", ["off never connected"]),
        (ago(days=1, hours=5), "", ["off offline for 1 day"]),
        (ago(minutes=119), "", ["off offline for 1 hour"]),
        (ago(seconds=125), "", ["off offline for 2 minutes"]),
        (ago(seconds=-5), "", ["off offline for moments"]),
        (
            {"connected": True, "approval_required": True},
            "",
            ["ok connected", "warn pending approval"],
        ),
        (ago(days=9), EXPIRED, ["off offline for 9 days", "bad login expired"]),
        ({"connected": True}, BLOCKED, ["ok connected", "bad owner blocked"]),
        ({"connected": True}, PENDING, ["ok connected", "warn owner pending approval"]),
    ],
)
def test_badges_say_what_state_a_peer_is_in(
    facts: dict[str, Any], reason: str, shown: list[str]
):
    with clock.set_to(NOW):
        marks = badges(Peer(**facts), reason)
    assert re.findall(r'badge--(\w+)">([^<]+)', marks) == [
        tuple(x.split(" ", 1)) for x in shown
    ]


def test_a_row_says_who_where_and_in_which_groups(client: Client):
    owner = person("user", email="ann@mesh.dev")
    one = peer(
        "Printer",
        dns_label="printer",
        ipv6="fd00::1",
        user=owner,
        city_name="Bergen",
        country_code="NO",
        os="Debian 12",
        version="0.60.1",
        last_seen=dt.datetime(2026, 5, 6, 7, 8, 9, tzinfo=dt.UTC),
        login_expired=True,
    )
    for name in ("d", "c", "b", "a"):
        group(name, one)

    page = client.get(PEERS).content.decode()

    for part in (
        '<bdi>Printer</bdi><span class="below">printer</span>',
        '<span class="badge badge--bad">login expired</span>',
        'datetime="2026-05-06T07:08:09Z">2026-05-06 07:08</time>',
        '<span class="below">fd00::1</span>',
        "ann<wbr>@mesh.dev",
        "<bdi>Bergen, NO</bdi>",
        '<bdi>Debian 12</bdi><span class="below">0.60.1</span>',
        '<bdi>c</bdi></a> <span class="quiet">and 1 more</span>',
    ):
        assert part in page
    assert "<bdi>d</bdi>" not in page


def test_the_list_needs_a_dozen_queries_however_long_it_is(client: Client):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(PEERS, {"group": team.pk}).status_code == 200
        return len(captured)

    first = peers(2)
    team = group("team", *first)
    few = queries()
    many = [peer(user=person("user"), last_seen=clock.now()) for _ in range(10)]
    for _ in range(5):
        group("", *first, *many)

    assert queries() == few
    assert few <= 12


def test_the_filter_keeps_the_members_of_a_group(client: Client):
    inside, outside = peer(), peer()
    team = group("team", inside)

    assert listed(client.get(PEERS, {"group": team.pk})) == [inside.pk]
    gone = client.get(PEERS, {"group": "nope"})
    assert listed(gone) == []
    assert gone.content.decode().count("is gone: choose another one") == 1
    everybody = client.get(PEERS, {"group": all_group_id()})
    assert listed(everybody) == sorted([inside.pk, outside.pk])


def test_the_filter_keeps_what_else_was_asked(client: Client):
    team = group("team", peer("kitchen"))
    asked = {"group": team.pk, "q": "kit", "connected__exact": "0"}

    page = client.get(PEERS, asked).content.decode()

    assert '<input type="hidden" name="q" value="kit">' in page
    assert '<input type="hidden" name="connected__exact" value="0">' in page
    assert f'<option value="{team.pk}" selected>team</option>' in page
    assert 'href="?connected__exact=0&amp;q=kit">Any group</a>' in page


def test_the_filter_does_not_list_groups(client: Client):
    for n in range(20):
        group(f"team-{n}")

    assert "team-7" not in client.get(PEERS).content.decode()


@pytest.mark.parametrize("query", ["KITCHEN", "kitchen stuff"])
def test_search_finds_the_members_of_a_group_by_its_name(client: Client, query: str):
    inside = peer()
    peer("laptop")
    group("Kitchen stuff", inside)
    group("other kitchen stuff", inside)

    # A list: named by two groups it is found once.
    assert listed(client.get(PEERS, {"q": query})) == [inside.pk]


def test_looking_a_peer_up_in_a_form_does_not_search_groups(client: Client):
    group("kitchen", peer("laptop"))

    assert looked_up(client, "grouppeer", "peer", "kitchen") == []


def test_groups_are_changed_on_the_page_of_a_peer(client: Client):
    one, other = peers(2)
    old, kept, new = group("old", one, other), group("kept", one), group("new", other)
    path = f"{PEERS}{one.pk}/change/"
    sent = form_data(client, path)
    assert set(sent["groups"]) == {old.pk, kept.pk}
    trail = Trail()

    done = client.post(path, {**sent, "groups": [kept.pk, new.pk], "name": "renamed"})

    assert done.status_code == 302
    links = one.group_links.order_by("group_id").values_list("group__name", flat=True)
    assert sorted(links) == ["kept", "new"]
    codes = ["peer.group.add", "peer.group.delete", "peer.rename"]
    assert sorted(trail.codes) == codes


def test_a_new_peer_can_be_put_into_groups_at_once(client: Client):
    team, key = group("team"), "A" * 43 + "="
    sent = {"name": "Printer", "wg_public_key": key, "groups": [team.pk]}

    assert client.post(f"{PEERS}add/", sent).status_code == 302
    assert team.peer_links.get().peer.name == "Printer"


def test_an_unknown_group_is_refused_at_its_field(client: Client):
    one = peer()
    path = f"{PEERS}{one.pk}/change/"

    page = client.post(path, {**form_data(client, path), "groups": [all_group_id()]})

    errors = page.context["adminform"].errors
    assert errors["groups"] == [f"group '{all_group_id()}' was not found"]


def test_groups_of_claims_are_shown_and_stay(client: Client):
    one = peer(wg_public_key="B" * 43 + "=")
    claimed = group("of claims", one, issued="jwt")
    path = f"{PEERS}{one.pk}/change/"

    page = client.get(f"{path}?edit=1").content.decode()
    done = client.post(path, {**form_data(client, path), "groups": []})

    assert "<bdi>All</bdi>, <bdi>of claims</bdi>" in page
    assert done.status_code == 302
    assert claimed.peer_links.count() == 1


def test_who_may_not_change_a_peer_sees_its_groups():
    one = peer()
    group("kitchen", one)
    group("of claims", one, issued="jwt")
    client = client_of(person("auditor"))

    page = client.get(f"{PEERS}{one.pk}/change/?edit=1").content.decode()

    assert "<bdi>All</bdi>, <bdi>kitchen</bdi>, <bdi>of claims</bdi>" in page
