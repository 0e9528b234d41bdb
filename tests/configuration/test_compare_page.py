"""The page that compares two moments."""

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.models import AuditEvent
from meshmgmt.core import clock
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.configuration.test_moments import (
    named_by_a_policy,
    renamed_beside_the_past,
    told,
)
from tests.dns import bodies
from tests.factories import group, newest_event, peer
from tests.history.test_past import now
from tests.history.test_revert_page import signed_in
from tests.people import api_as, person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

PATH = "/admin/events/auditevent/compare/"
HOSTILE = "<script>alert(1)</script>"


def compared(client: Client, start: str, end: str = "", **more: str) -> str:
    answer = client.get(PATH, {"start_date": start, "end_date": end, **more})
    assert answer.status_code == 200
    return answer.content.decode()


def headings(text: str) -> list[str]:
    """Return kind, name and deed of each object, as people read them."""
    found: Sequence[str] = re.findall(r"(?s)<h2 id=\"compared-.*?</h2>", text)
    return [" ".join(re.sub(r"<[^>]*>", " ", part).split()) for part in found]


def test_each_object_says_what_became_of_it_and_who_did_it(api: Api):
    gone = ok(api.post("/api/groups", {"name": "gone"}))
    zone = ok(api.post("/api/dns/zones", bodies.zone(domain="example.internal")))
    machines = str(group("machines").pk)
    first = now()
    other = api_as("network_admin")
    renamed = bodies.zone(domain="example.internal", name="New")
    ok(other.put(f"/api/dns/zones/{zone['id']}", renamed))
    record = bodies.record(name="www.example.internal")
    ok(other.post(f"/api/dns/zones/{zone['id']}/records", record))
    ok(other.delete(f"/api/groups/{gone['id']}"))
    ok(other.put("/api/dns/settings", {"disabled_management_groups": [machines]}))
    text = compared(signed_in(), first)
    assert "4 objects differ" in text
    assert headings(text) == [
        "Group gone deleted",
        "Zone example.internal changed",
        "Record www.example.internal A 10.0.0.1 in zone example.internal created",
        "DNS settings changed",
    ]
    assert text.count("by <bdi>a network_admin</bdi>,") == 4
    event = AuditEvent.objects.get(activity_code="group.delete")
    assert f"/admin/events/auditevent/{event.pk}/take-back/" in text
    assert f"/admin/dns/zone/{zone['id']}/change/" in text
    assert headings(compared(signed_in(), first, first)) == []


def test_the_document_is_that_of_the_command(api: Api):
    staff = ok(api.post("/api/groups", {"name": "staff"}))
    zone = bodies.zone(distribution_groups=[staff["id"]])
    ok(api.post("/api/dns/zones", zone))
    first = now()
    ok(api.post("/api/groups", {"name": "ops"}))
    ok(api.put(f"/api/groups/{staff['id']}", {"name": "people", "peers": []}))
    second = now()
    found = json.loads(compared(signed_in(), first, second, format="json"))
    assert found["objects"] == told(first, second)["objects"]


def test_another_name_is_one_change(api: Api):
    staff = ok(api.post("/api/groups", {"name": "staff"}))
    zone = bodies.zone(distribution_groups=[staff["id"]])
    made = ok(api.post("/api/dns/zones", zone))
    ok(api.post(f"/api/dns/zones/{made['id']}/records", bodies.record()))
    first = now()
    ok(api.put(f"/api/groups/{staff['id']}", {"name": "people", "peers": []}))
    text = compared(signed_in(), first)
    assert headings(text) == ["Group people changed"]
    assert re.search(r"Name</th><td>staff</td><td>people</td>", text)


@pytest.mark.django_db(transaction=True)
def test_what_is_renamed_while_the_page_is_made_differs_in_nothing():
    one = named_by_a_policy()
    first, client = now(), signed_in()
    with renamed_beside_the_past(one):
        assert headings(compared(client, first)) == []
    assert headings(compared(client, first)) == ["Group new changed"]


def test_members_of_a_group_are_not_taken_for_changes_of_it(api: Api):
    made = ok(api.post("/api/groups", {"name": "ops"}))
    first = now()
    ok(api.put(f"/api/groups/{made['id']}", {"name": "operators", "peers": []}))
    renamed = newest_event()
    network = ok(api.post("/api/networks", {"name": "office"}))
    resource = {"name": "db", "address": "10.0.0.0/24", "enabled": True}
    way = f"/api/networks/{network['id']}/resources"
    ok(api.post(way, {**resource, "groups": [made["id"]]}))
    body = {"name": "operators", "peers": [str(peer("laptop").pk)]}
    ok(api.put(f"/api/groups/{made['id']}", body))
    assert newest_event().pk > renamed.pk
    text = compared(signed_in(), first)
    assert f"/admin/events/auditevent/{renamed.pk}/take-back/" in text


def test_an_event_leads_to_what_was_before_its_request_and_after(api: Api):
    ok(api.post("/api/groups", {"name": "before"}))
    ok(api.post("/api/groups", {"name": "ops"}))
    event = newest_event()
    ok(api.post("/api/groups", {"name": "later"}))
    client = signed_in()
    page = client.get(f"/admin/events/auditevent/{event.pk}/change/").content.decode()
    assert f'href="{PATH}?event={event.pk}"' in page
    answer = client.get(PATH, {"event": str(event.pk)}, follow=True)
    assert headings(answer.content.decode()) == ["Group ops created"]
    assert client.get(PATH, {"event": "0"}).status_code == 404


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("soon", "", "From (UTC): must be an ISO 8601 date and time"),
        ("", "", "From (UTC): This field is required"),
        ("1999-01-01", "1999-01-02", "To (UTC): the audit trail does not reach back"),
        ("-1s", "2999-01-01", "To (UTC): this moment is still to come"),
        ("-1m", "-2m", "To (UTC): must not lie before the other moment"),
        (HOSTILE, "", "must be an ISO 8601"),
    ],
)
def test_faulty_moments_are_refused_by_the_name_of_their_field(
    start: str, end: str, said: str
):
    old = AuditEvent(activity_code="group.add", target_type="group", target_id="x")
    old.timestamp = clock.now() - timedelta(days=1)
    old.save()
    text = compared(signed_in(), start, end)
    assert said in text
    assert HOSTILE not in text
    assert headings(text) == []


def test_what_lies_before_the_trail_is_compared_from_its_beginning(api: Api):
    ok(api.post("/api/groups", {"name": "ops"}))
    text = compared(signed_in(), "1999-01-01")
    assert "The audit trail begins on " in text
    assert "Group ops created" in headings(text)


def test_the_page_asks_nothing_until_it_is_asked():
    text = signed_in().get(PATH).content.decode()
    assert "errornote" not in text
    assert 'href="?start_date=-24h"' in text


def test_names_are_shown_as_text(api: Api):
    first = now()
    ok(api.post("/api/groups", {"name": HOSTILE}))
    text = compared(signed_in(), first)
    assert HOSTILE not in text
    assert headings(text) == ["Group &lt;script&gt;alert(1)&lt;/script&gt; created"]


def test_many_differences_come_in_pages_of_few_queries(api: Api):
    first = now()
    for number in range(60):
        ok(api.post("/api/groups", {"name": f"group-{number:02}"}))
    client = signed_in()
    link = f"{PATH}?start_date={quote(first)}"
    text = client.get(link).content.decode()
    assert "60 objects differ" in text
    assert "Page 1 of 2" in text
    assert len(headings(text)) == 50
    with CaptureQueriesContext(connection) as many:
        second = client.get(f"{link}&page=2").content.decode()
    assert headings(second)[0] == "Group group-50 created"
    assert len(many) < 120


def test_only_those_who_read_settings_and_events_see_it():
    assert client_of(person("auditor")).get(PATH).status_code == 200
    assert client_of(person("user")).get(PATH).status_code in (302, 403)


def test_who_changes_nothing_is_not_offered_to_take_anything_back(api: Api):
    first = now()
    ok(api.post("/api/groups", {"name": "new"}))
    event = newest_event()
    page = f"/admin/events/auditevent/{event.pk}/change/"
    for role, offered in (("owner", True), ("network_admin", True), ("auditor", False)):
        client = client_of(person(role))
        for text in (compared(client, first), client.get(page).content.decode()):
            assert (f"/auditevent/{event.pk}/take-back/" in text) is offered
