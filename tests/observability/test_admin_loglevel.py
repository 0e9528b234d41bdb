"""The log level on the admin's metrics page."""

from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client

from events.models import AuditEvent
from observability.logs import loglevels
from tests.admin.signed_in import client_of
from tests.people import person

pytestmark = pytest.mark.django_db

PAGE = "/admin/metrics/"
CHANGE = "/admin/metrics/log-level/"
NOON = 1_800_000_000
TEN_MINUTES = {"level": "debug", "duration": "10m"}


def browser(role: str = "owner") -> Client:
    return client_of(person(role))


def changes(folder: Path) -> list[tuple[str, str]]:
    return [(rule.level, rule.logger) for rule in loglevels.read(folder).rules]


def trail() -> list[dict[str, Any]]:
    events = AuditEvent.objects.filter(activity_code="log.level.update").order_by("id")
    return [event.meta for event in events]


def test_the_form_offers_debug_for_ten_minutes_at_once(serving: Path):
    page = browser().get(PAGE)
    form = page.context["form"]
    assert form["level"].value() == "debug"
    assert form["duration"].value() == "10m"
    assert "Set the level" in page.content.decode()


def test_a_change_holds_for_its_time_and_says_until_when(serving: Path):
    with time_machine.travel(NOON, tick=False) as clock:
        client = browser()
        answer = client.post(CHANGE, TEN_MINUTES, follow=True)
        text = " ".join(answer.content.decode().split())
        assert changes(serving) == [("debug", "")]
        assert "<strong>debug</strong> until 2027-01-15 08:10:00 UTC" in text
        assert "Back to info now" in text
        clock.shift(601)
        assert "until 2027" not in client.get(PAGE).content.decode()


def test_a_change_can_be_about_a_part_alone(serving: Path):
    browser().post(CHANGE, {**TEN_MINUTES, "logger": "dns", "path": "/api/dns/*"})
    [rule] = loglevels.read(serving).rules
    assert (rule.logger, rule.path) == ("dns", "/api/dns/*")


def test_everything_is_taken_back_at_once(serving: Path):
    client = browser()
    client.post(CHANGE, {"level": "trace", "duration": ""})
    client.post(CHANGE, TEN_MINUTES)
    client.post(CHANGE, {"reset": "1"})
    assert changes(serving) == []
    assert "Back to" not in client.get(PAGE).content.decode()


def test_changes_are_recorded_with_who_made_them(serving: Path):
    client = browser()
    client.post(CHANGE, {**TEN_MINUTES, "logger": "dns"})
    client.post(CHANGE, {"reset": "1"})
    assert trail() == [{**TEN_MINUTES, "logger": "dns"}, {"level": "reset"}]
    event = AuditEvent.objects.filter(activity_code="log.level.update").latest("id")
    assert event.initiator_name == "a owner"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"level": "loud"}, "loud is not one of the available choices"),
        ({**TEN_MINUTES, "path": "api"}, "matches nothing"),
        ({**TEN_MINUTES, "duration": "5y"}, "5y is not one of the available choices"),
    ],
)
def test_what_cannot_be_is_refused_on_the_page(
    serving: Path, sent: dict[str, str], said: str
):
    answer = browser().post(CHANGE, sent)
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert changes(serving) == []
    assert trail() == []


def test_without_a_server_the_page_says_so_and_records_nothing(idle: Path):
    answer = browser().post(CHANGE, TEN_MINUTES)
    assert "no server is running" in answer.content.decode()
    assert trail() == []


@pytest.mark.parametrize("role", ["network_admin", "auditor"])
def test_who_may_not_change_settings_sees_the_level_alone(serving: Path, role: str):
    client = browser(role)
    page = client.get(PAGE).content.decode()
    assert "as configured" in page
    assert "Set the level" not in page
    assert client.post(CHANGE, TEN_MINUTES).status_code == 403
    assert changes(serving) == []


def test_looking_at_the_address_of_the_form_changes_nothing(serving: Path):
    answer = browser().get(CHANGE)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert changes(serving) == []
