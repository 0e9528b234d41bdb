"""Taking changes back in the admin site."""

import re
from typing import Any

import pytest
from django.test import Client

from events.models import AuditEvent
from groups.models import Group
from groups.services import group_create, group_delete, group_update
from meshmgmt.core import context
from meshmgmt.core.ids import new_id
from meshmgmt.core.transactions import lock_held
from meshmgmt.history import reverting
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import client_of
from tests.factories import Trail, group, groups_of_peer, newest_event, peer
from tests.people import person
from tests.resource_contract import stored

pytestmark = pytest.mark.django_db

QUIET = {"django_session", "accounts_user"}  # signing in leaves traces there


def signed_in(role: str = "owner") -> Client:
    return client_of(person(role))


def page(event: AuditEvent, query: str = "") -> str:
    return f"/admin/events/auditevent/{event.pk}/take-back/{query}"


def plan_on(text: str) -> str:
    found: list[str] = re.findall(r'name="plan" value="([0-9a-f]{64})"', text)
    assert len(found) == 1
    return found[0]


def test_an_event_leads_to_a_page_that_takes_it_back(client: Client):
    made = group("web", peer("alpha"))
    group_delete(group_id=made.pk)
    event = newest_event()
    shown = client.get(f"/admin/events/auditevent/{event.pk}/change/").content.decode()
    assert page(event) in shown
    before = {name: rows for name, rows in stored().items() if name not in QUIET}
    text = client.get(page(event)).content.decode()
    assert "will be created" in text
    after = stored()
    assert {name: after[name] for name in before} == before
    trail = Trail()
    answer = client.post(page(event), {"plan": plan_on(text)}, follow=True)
    assert "Taken back: 1 event." in answer.content.decode()
    assert Group.objects.get(pk=made.pk).name == "web"
    assert trail.codes


def test_what_would_do_something_else_by_now_is_shown_again(client: Client):
    made = group("web", peer("alpha"))
    group_delete(group_id=made.pk)
    event = newest_event()
    text = client.post(page(event), {"plan": "0" * 64}).content.decode()
    assert "Something else would be done by now" in text
    assert not Group.objects.filter(pk=made.pk).exists()
    client.post(page(event), {"plan": plan_on(text)})
    assert Group.objects.filter(pk=made.pk).exists()


def test_a_refusal_says_what_stands_in_the_way():
    made = group_create(name="web")
    group_update(group_id=made.pk, name="second", peers=[], resources=[])
    renamed = newest_event()
    group_update(group_id=made.pk, name="third", peers=[], resources=[])
    text = signed_in().get(page(renamed)).content.decode()
    assert "name was changed since" in text
    assert 'name="plan"' not in text


@pytest.mark.parametrize("bound", ["MOST_OBJECTS", "MOST_EVENTS"])
def test_too_much_is_refused_before_anybody_waits(
    monkeypatch: pytest.MonkeyPatch, client: Client, bound: str
):
    with context.scope(request_id=new_id()):
        group_create(name="one")
        group_create(name="another")
    monkeypatch.setattr(reverting, bound, 1)
    taken: list[float] = []

    def note(seconds: float, **kwargs: Any) -> None:
        taken.append(seconds)

    lock_held.connect(note)
    text = client.get(page(newest_event(), "?whole=1")).content.decode()
    assert "too many to take back at once" in text
    assert taken == []


def test_a_deleted_group_comes_back_with_all_that_went_unless_told_otherwise(
    client: Client,
):
    made = group("web", peer("alpha"))
    client.post(f"/admin/groups/group/{made.pk}/delete/", {"post": "yes"})
    gone = newest_event()
    text = client.get(page(gone)).content.decode()
    assert "With everything else of its request (1 more)." in text
    alone = client.get(page(gone, "?alone=1")).content.decode()
    assert "1 more event belongs to the same request." in alone
    client.post(page(gone), {"plan": plan_on(text), "whole": "1"})
    assert made.pk in groups_of_peer(Peer.objects.get(name="alpha").pk)


def test_a_refusal_names_what_is_gone():
    alpha = peer("alpha")
    made = group("web", alpha)
    group_update(group_id=made.pk, name="web", peers=[], resources=[])
    left = newest_event()
    group_delete(group_id=made.pk)
    text = signed_in().get(page(left)).content.decode()
    assert "group web was deleted since" in text


def test_readers_may_look_and_others_not():
    group_create(name="web")
    event = newest_event()
    shown = signed_in("auditor").get(page(event)).content.decode()
    assert "not yours to change" in shown
    assert signed_in("user").get(page(event)).status_code in (302, 403)
    assert Client().get(page(event)).status_code == 302
    assert signed_in().get(page(event).replace(str(event.pk), "0")).status_code == 404
