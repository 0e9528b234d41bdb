"""Pages that ask before a deletion say what it does, and what forbids it."""

import re
from functools import partial

import pytest
from django.db import OperationalError
from django.http import HttpRequest
from django.test import Client

from events.models import AuditEvent
from groups.models import Group
from meshmgmt.accounts.models import User
from meshmgmt.adminsite.trail import trails
from meshmgmt.core.locks import BUSY
from meshmgmt.core.transactions import writers
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import nameserver_group
from tests.factories import group, peer, peers, resource, setup_key
from tests.people import person
from tests.queries import asking
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

USERS = "/admin/accounts/user/"


def said(client: Client, path: str) -> str:
    """Return the text of a page."""
    response = client.get(path)
    assert response.status_code == 200
    return re.sub(r"<[^>]+>", "", response.content.decode())


def test_asking_writes_nothing(client: Client):
    made = group("g", *peers(3))
    before = AuditEvent.objects.count()

    text = said(client, f"/admin/groups/group/{made.pk}/delete/")

    assert text.count("leaves group g") == 3
    assert "Deleting group g does this, and nothing else" in text
    assert AuditEvent.objects.count() == before
    assert Group.objects.filter(pk=made.pk).exists()


def test_of_many_changes_the_first_are_told_and_the_others_counted(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("events.admin.foresight.MOST", 2)
    made = group("g", *peers(3))
    text = said(client, f"/admin/groups/group/{made.pk}/delete/")
    assert text.count("leaves group g") == 2
    assert "and 2 further changes" in text


def test_a_person_with_peers_is_deleted_as_the_api_does(client: Client):
    ann = person("user", name="ann")
    owned = peer("laptop", user=ann)

    text = said(client, f"{USERS}{ann.pk}/delete/")

    assert f"user {ann.email}: will be deleted" in text
    assert "peer laptop: will be deleted" in text
    assert client.post(f"{USERS}{ann.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=ann.pk).exists()
    assert not Peer.objects.filter(pk=owned.pk).exists()


def test_what_may_not_be_deleted_is_said_before(client: Client):
    [owner] = User.objects.filter(role="owner")

    text = said(client, f"{USERS}{owner.pk}/delete/")

    assert "cannot be deleted" in text
    assert "Yes, I" not in text


def test_a_group_loses_the_resource_that_goes(client: Client):
    gone = resource("intranet")
    group("g", resources=[(gone.pk, gone.type)])

    text = said(client, f"/admin/inventory/network/{gone.network_id}/delete/")

    assert "group g: loses resource intranet" in text
    assert "leaves group" not in text


def test_several_are_asked_about_as_one(client: Client):
    both = [group("a", peer()).pk, group("b").pk]
    chosen = {"action": "delete_selected", "_selected_action": both}

    page = client.post("/admin/groups/group/", chosen)

    text = re.sub(r"<[^>]+>", "", page.content.decode())
    for name in "ab":
        assert f"group {name}: will be deleted" in text
    assert Group.objects.filter(pk__in=both).count() == 2


def test_confirming_does_not_try_it_a_second_time(client: Client):
    path = f"/admin/groups/group/{group('g', peer()).pk}/delete/"
    _, asked = asking(lambda: client.post(path, {"post": "yes"}))
    assert sum(sql.startswith('DELETE FROM "groups_group" ') for sql in asked) == 1


def test_the_page_before_a_deletion_asks_as_much_for_many_members_as_for_few(
    client: Client,
):
    asked = []
    for number in (3, 40):
        path = f"/admin/groups/group/{group('', *peers(number)).pk}/delete/"
        text, queries = asking(partial(said, client, path))
        assert text.count("leaves group") == number
        asked.append(len(queries))
    assert asked[1] <= asked[0] + 2


def test_each_thing_says_in_its_own_words_what_it_loses(client: Client, api: Api):
    made = group("g")
    body = nameserver_group(name="resolvers", groups=[made.pk])
    found = ok(api.post("/api/dns/nameservers", body))
    page = said(client, f"/admin/dns/nameservergroup/{found['id']}/delete/")
    assert "nameserver group resolvers: will be deleted" in page
    assert "leaves group" not in page

    ok(api.put("/api/dns/settings", {"disabled_management_groups": [made.pk]}))
    setup_key("vms", auto_groups=[made.pk])
    text = said(client, f"/admin/groups/group/{made.pk}/delete/")
    assert "setup key vms: loses auto-group g" in text
    assert "DNS settings: will manage the DNS of group g" in text


@pytest.mark.django_db(transaction=True)
def test_what_is_only_tried_queues_with_other_writes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writers, "patience", 0.05)
    with writers.turn(RuntimeError()), pytest.raises(OperationalError, match=BUSY):
        trails.only.foresee(HttpRequest(), lambda: None)
