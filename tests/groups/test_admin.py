"""Admin pages of groups: the API's rules and services behind forms."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from groups.models import ALL, Group, GroupResource
from groups.selectors import all_group_id
from meshmgmt.accounts.models import User
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import form_data, looked_up, texts_of
from tests.factories import Trail, group, peer, peers, resource, rule

pytestmark = pytest.mark.django_db

GROUPS = "/admin/groups/group/"


def change(pk: str) -> str:
    return f"{GROUPS}{pk}/change/"


def test_a_new_group_leads_to_its_members(client: Client, owner: User):
    trail = Trail()

    response = client.post(
        f"{GROUPS}add/", {"name": " team ", "resources": ["r2 peer", "r1 host"]}
    )

    made = Group.objects.get(name=" team ")
    assert response["Location"] == f"{GROUPS}{made.pk}/members/"
    assert member_keys(GroupResource, made) == [("r1", "host"), ("r2", "peer")]
    assert trail.codes[0] == "group.add"
    assert {event.initiator_id for event in trail.events} == {owner.pk}


def test_page_names_the_resources_that_are_known(client: Client):
    known = resource("intranet")
    made = group("g", resources=[(known.pk, "host"), ("lost", "domain")])

    page = client.get(change(made.pk)).content.decode()

    assert f'<option value="{known.pk} host" selected>intranet' in page
    assert '<option value="lost domain" selected>unknown (lost domain)</option>' in page


def test_page_tells_what_refers_to_the_group(client: Client):
    made = group("g")
    restricted = rule([made], [group("other")])

    page = client.get(change(made.pk)).content.decode()

    path = f"/admin/access/policyrule/{restricted.pk}/change/"
    name = f"<bdi>{restricted.policy.name} / {restricted.name}</bdi>"
    link = f'<a href="{path}">{name}</a>'
    assert f"policy rule {link}: sources; will be disabled with the group" in page


def test_deletion_shows_and_then_does_what_the_api_does(client: Client):
    made = group("g", peer())
    restricted = rule([made], [group("other")])
    trail = Trail()

    question = client.get(f"{GROUPS}{made.pk}/delete/")
    response = client.post(f"{GROUPS}{made.pk}/delete/", {"post": "yes"})

    text = re.sub("<[^>]+>", "", question.content.decode())
    assert f"policy rule {restricted.name}: will be disabled" in text
    assert f"policy {restricted.policy.name}: will be disabled" in text
    assert "group g: will be deleted" in text
    assert "leaves group g" in text
    assert response.status_code == 302
    restricted.refresh_from_db()
    assert not restricted.enabled
    of_rule = ["rule.update", "policy.update"]
    assert trail.codes == [*of_rule, "peer.group.delete", "group.delete"]


def delete_selected(client: Client, *keys: str) -> Any:
    """Run the list's action on groups."""
    chosen = {"action": "delete_selected", "_selected_action": keys}
    return client.post(GROUPS, chosen | {"post": "yes"})


def test_several_groups_are_deleted_in_one_go(client: Client):
    first, second = group("a"), group("b")
    rule([first], [second])
    trail = Trail()

    assert delete_selected(client, first.pk, second.pk).status_code == 302
    assert list(Group.objects.values_list("name", flat=True)) == [ALL]
    assert trail.codes[-1] == "group.delete"


def test_group_all_is_read_only(client: Client):
    everybody = all_group_id()
    trail = Trail()

    assert client.get(change(everybody)).status_code == 200
    path = f"{GROUPS}{everybody}/delete/"
    assert client.post(change(everybody), {"name": "x"}).status_code == 403
    assert client.post(path, {"post": "yes"}).status_code == 403
    refused = delete_selected(client, everybody, group("g").pk)
    assert "the group All cannot be deleted" in texts_of(refused)
    assert Group.objects.count() == 2
    assert trail.codes == ["group.add"]


def test_search_finds_names_and_ids(client: Client):
    wanted = group("kitchen")
    group("office")

    for query in ("KITCH", wanted.pk):
        found = client.get(GROUPS, {"q": query}).context["cl"].result_list
        assert [entry.pk for entry in found] == [wanted.pk]


def test_peers_are_found_by_typing(client: Client):
    one = peer("printer")
    peer("laptop")

    found = looked_up(client, "grouppeer", "peer", "print")

    assert [each["id"] for each in found] == [one.pk]


@pytest.mark.parametrize("size", [600, pytest.param(5000, marks=pytest.mark.slow)])
def test_pages_bear_a_large_mesh(client: Client, size: int):
    made = group("everyone", *peers(size))
    one = "/admin/inventory/peer/"
    for path, queries, most, text in (
        (GROUPS, 14, 100_000, "everyone"),
        (change(made.pk), 20, 50_000, f"{size:,} peers"),
        (f"{GROUPS}{made.pk}/members/", 14, 100_000, f"{size} peers"),
        (one, 14, 100_000, ""),
        (f"{one}?q=peer&p={size // 50}", 14, 100_000, ""),
        (f"{one}{Peer.objects.all()[size - 3].pk}/change/", 40, 100_000, ""),
    ):
        with CaptureQueriesContext(connection) as asked:
            page = client.get(path)
        assert page.status_code == 200, path
        assert text in page.content.decode(), path
        assert len(page.content) < most, path
        assert len(asked) <= queries, path
    sent, trail = form_data(client, change(made.pk)), Trail()
    with CaptureQueriesContext(connection) as asked:
        assert client.post(change(made.pk), sent).status_code == 302
    assert len(asked) < 40
    assert trail.codes == []
