"""Taking changes back in the admin site."""

import re

import pytest
from django.test import Client

from events.models import AuditEvent
from groups.models import Group
from groups.services import group_create, group_delete, group_update
from tests.mesh import Trail, group, peer
from tests.people import person
from tests.resource_contract import stored

pytestmark = pytest.mark.django_db

QUIET = {"django_session", "accounts_user"}  # signing in leaves traces there


def signed_in(role: str = "owner") -> Client:
    client = Client()
    client.force_login(person(role))
    return client


def newest() -> AuditEvent:
    return AuditEvent.objects.order_by("-id")[0]


def page(event: AuditEvent, query: str = "") -> str:
    return f"/admin/events/auditevent/{event.pk}/take-back/{query}"


def plan_on(text: str) -> str:
    found: list[str] = re.findall(r'name="plan" value="([0-9a-f]{64})"', text)
    assert len(found) == 1
    return found[0]


def test_an_event_leads_to_a_page_that_takes_it_back() -> None:
    made = group("web", peer("alpha"))
    group_delete(group_id=made.pk)
    event = newest()
    client = signed_in()
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


def test_what_would_do_something_else_by_now_is_shown_again() -> None:
    made = group("web", peer("alpha"))
    group_delete(group_id=made.pk)
    event = newest()
    client = signed_in()
    text = client.post(page(event), {"plan": "0" * 64}).content.decode()
    assert "Something else would be done by now" in text
    assert not Group.objects.filter(pk=made.pk).exists()
    client.post(page(event), {"plan": plan_on(text)})
    assert Group.objects.filter(pk=made.pk).exists()


def test_a_refusal_says_what_stands_in_the_way() -> None:
    made = group_create(name="web")
    group_update(group_id=made.pk, name="second", peers=[], resources=[])
    renamed = newest()
    group_update(group_id=made.pk, name="third", peers=[], resources=[])
    text = signed_in().get(page(renamed)).content.decode()
    assert "name was changed since" in text
    assert 'name="plan"' not in text


def test_readers_may_look_and_others_not() -> None:
    group_create(name="web")
    event = newest()
    assert (
        "not yours to change" in signed_in("auditor").get(page(event)).content.decode()
    )
    assert signed_in("user").get(page(event)).status_code in (302, 403)
    assert Client().get(page(event)).status_code == 302
    assert signed_in().get(page(event).replace(str(event.pk), "0")).status_code == 404
