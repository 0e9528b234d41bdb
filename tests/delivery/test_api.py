"""Subscriptions over HTTP: what is made, refused, shown, audited."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from events.models import AuditEvent
from meshmgmt.core import clock
from meshmgmt.delivery import rules, services, worker
from meshmgmt.delivery.models import Subscription
from observability.metrics import scrape
from tests.admin.signed_in import client_of, errors_of, form_data, texts_of
from tests.api_client import Api
from tests.factories import Trail, group
from tests.people import api_as, person
from tests.resource_contract import TAKEN, Answered, Body, Fault, ResourceContract, ok

pytestmark = pytest.mark.django_db

PATH = "/api/events/subscriptions"
BODY: dict[str, Any] = {
    "name": "to the SIEM",
    "stream": "audit",
    "filters": {"activity_code": ["group.*"], "search": "laptop"},
    "target": {"type": "webhook", "url": "https://siem.test/hook"},
}


@pytest.fixture
def api() -> Api:
    return api_as("admin")


def test_a_webhook_is_made_and_its_secret_shown_once(api: Api):
    made = api.post(PATH, BODY)
    assert made.status == 200, made.json
    secret = made.json.pop("secret")
    assert secret.startswith("whsec_")
    assert api.get(PATH).json == [made.json]
    assert secret not in str(list(AuditEvent.objects.values()))


def test_a_webhook_gets_a_new_secret_and_nothing_else_does(api: Api, inside: Path):
    made = api.post(PATH, BODY).json
    renewed = api.post(f"{PATH}/{made['id']}/secret")
    assert renewed.json["secret"].startswith("whsec_")
    assert renewed.json["secret"] != made["secret"]
    event = AuditEvent.objects.get(activity_code="event.subscription.secret")
    assert event.changes["sealed_secret"]["after"] == "changed"
    assert renewed.json["secret"] not in str(event.changes)
    file = {**BODY, "name": "f", "target": {"type": "file", "path": "x"}}
    other = api.post(PATH, file).json["id"]
    assert api.post(f"{PATH}/{other}/secret").status == 412


def test_queries_of_addresses_are_for_those_who_may_change_them(api: Api):
    url = "https://siem.test/hook?token=t0k3n"
    made = api.post(PATH, {**BODY, "target": {"type": "webhook", "url": url}}).json
    assert made["target"]["url"] == url
    one = f"{PATH}/{made['id']}"
    assert api.put(one, {"target": made["target"] | {"url": f"{url}2"}}).status == 200
    for path in (PATH, one):
        read = str(api_as("auditor").get(path).json)
        assert "hook?***" in read
        assert "t0k3n" not in read
    assert AuditEvent.objects.filter(activity_code__endswith="subscription.update")
    assert "t0k3n" not in str(list(AuditEvent.objects.values()))
    page = f"/admin/delivery/subscription/{made['id']}/change/"
    assert b"t0k3n" in client_of(person("admin")).get(page).content
    shown = client_of(person("auditor")).get(page).content.decode()
    assert "https://siem.test/hook?***" in shown
    assert "t0k3n" not in shown


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("stream=audit", 200),
        ("sealed_secret=x", 400),
        ("sealed_secret__gte=x", 400),
        ("target__url__contains=t0k3n", 400),
        ("target__contains=t0k3n&export=csv", 400),
    ],
)
def test_lists_are_not_filtered_by_what_is_hidden(api: Api, query: str, status: int):
    api.post(PATH, BODY)
    path = f"/admin/delivery/subscription/?{query}"
    assert client_of(person("auditor")).get(path).status_code == status


class TestSubscriptions(ResourceContract):
    path = PATH
    required = ("name", "stream", "target")
    created_codes = ("event.subscription.create",)
    deleted_codes = ("event.subscription.delete",)
    updates = {"name": "renamed"}
    filled_in = frozenset({"id", "created_at"})
    fixed = frozenset({"stream", "target"})  # kind of target and stream stay

    def body(self, number: int = 1) -> Body:
        return BODY | {"name": f"to SIEM {number}", "enabled": True}

    def answered(self) -> Iterator[Answered]:
        yield BODY, {"enabled": True}
        yield BODY | {"filters": None, "enabled": False}, {"filters": {}}

    def readable(self, made: Body) -> Body:
        return {name: value for name, value in made.items() if name != "secret"}

    def refused(self) -> Iterator[Fault]:
        yield {"name": " "}, 422, "name", "the name must be"
        yield {"name": f"to SIEM {TAKEN}"}, 409, "name", ""
        yield {"stream": "dns"}, 422, "stream", "the stream must be one of"
        for field, value, words in (
            ("colour", "red", "colour is no filter"),
            ("activity_code", "nothing.*", "activi"),
            ("search", "ab", "search"),
            ("search", 5, "the filter search must be"),
            ("start_date", "-24h", "start_date is not"),
            ("target_id", ["a", "b"], "target_id: is given more than once"),
        ):
            yield {"filters": {field: value}}, 422, f"filters.{field}", words
        for target, part in (
            ({"type": "webhook", "url": "http://a.test/"}, "URL"),
            ({"type": "file", "path": "x"}, "path"),
            ({"type": "syslog", "host": "a"}, "port"),
        ):
            yield {"target": target}, 422, f"target.{part.lower()}", part
        yield {"target": "x"}, 400, "target", ""
        yield {"enabled": "yes"}, 400, "enabled", ""


def test_stream_and_kind_of_target_stay(api: Api):
    one = f"{PATH}/{api.post(PATH, BODY).json['id']}"
    assert api.put(one, {"stream": "proxy"}).fields.keys() == {"stream"}
    target = {"type": "syslog", "host": "a.test", "port": 514}
    assert api.put(one, {"target": target}).fields.keys() == {"target.type"}


def test_there_are_only_so_many(api: Api, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "MOST", 1)
    assert api.post(PATH, BODY).status == 200
    assert api.post(PATH, {**BODY, "name": "another"}).status == 409
    assert rules.MOST == 50


def test_what_is_asked_for_is_in_the_trail_but_the_state_is_not(api: Api):
    one = f"{PATH}/{api.post(PATH, BODY).json['id']}"
    trail = Trail()
    api.post(f"{one}/replay", {"from": "-24h"})
    api.post(f"{one}/test")
    assert trail.codes == ["event.subscription.replay", "event.subscription.test"]


def test_the_state_tells_what_is_to_come(api: Api):
    one = f"{PATH}/{api.post(PATH, BODY).json['id']}"
    past = {"from": "2026-01-01T00:00:00Z", "until": "2026-01-02"}
    ok(api.post(f"{one}/replay", past))
    state = api.get(f"{one}/state").json
    assert state["replay_from"] == "2026-01-01T00:00:00Z"
    assert state["replay_until"].startswith("2026-01-02T23:59:59")
    assert state["lag_seconds"] > 0
    assert state["dead_letters"] == 0
    wrong = api.post(f"{one}/replay", {"from": "2026-01-02", "until": "2026-01-01"})
    assert (wrong.status, set(wrong.fields)) == (422, {"until"})
    assert api.post(f"{one}/replay", {"from": "then"}).status in (400, 422)
    assert api.post(f"{one}/replay", {}).fields.keys() == {"from"}
    assert api.post(f"{one}/replay", {"from": None}).fields.keys() == {"from"}
    ok(api.delete(f"{one}/replay"))
    assert api.post(f"{one}/replay", {"from": "-1h", "until": None}).status == 200
    blank = api.post(f"{one}/replay", {"from": "-1h", "until": ""})
    assert blank.fields.keys() == {"until"}


def test_a_replay_that_still_runs_refuses_another(api: Api):
    one = f"{PATH}/{api.post(PATH, {**BODY, 'filters': {}}).json['id']}"
    assert api.post(f"{one}/replay", {"from": "-1h"}).status == 200
    state = api.get(f"{one}/state").json
    again = api.post(f"{one}/replay", {"from": "2026-01-01"})
    assert again.status == 409
    running = f"{state['replay_from'][:19]}Z to {state['replay_until'][:19]}Z is still"
    assert again.json["message"].startswith(running)
    assert api.get(f"{one}/state").json["replay_from"] == state["replay_from"]
    page = f"/admin/delivery/subscription/{Subscription.objects.get().pk}/sending/"
    sent = {"replay": "1", "start": "2026-01-01", "until": ""}
    shown = client_of(person("admin")).post(page, sent)
    assert shown.status_code == 200
    assert running in shown.content.decode()


def test_a_replay_is_stopped_and_told_once(api: Api):
    one = f"{PATH}/{api.post(PATH, {**BODY, 'filters': {}}).json['id']}"
    page = f"/admin/delivery/subscription/{Subscription.objects.get().pk}/sending/"
    browser = client_of(person("admin"))

    def stop_on_the_page() -> None:
        assert browser.post(page, {"stop": "1"}).status_code == 302

    for stop in (lambda: ok(api.delete(f"{one}/replay")), stop_on_the_page):
        ok(api.post(f"{one}/replay", {"from": "-1h"}))
        trail = Trail()
        for _ in range(2):
            stop()
            assert ok(api.get(f"{one}/state"))["replay_from"] is None
        assert trail.codes == ["event.subscription.replay.stop"]


def test_dead_letters_are_listed_and_forgotten(api: Api):
    one = f"{PATH}/{api.post(PATH, BODY).json['id']}"
    of, now = Subscription.objects.get(), clock.now()
    for days in (1, 31):
        facts = {"event_id": str(days), "created_at": now - timedelta(days=days)}
        of.deadletter_set.create(event_time=now, error="422", **facts)
    assert len(api.get(f"{one}/dead-letters").json) == 2
    worker.forget_dead_letters()
    assert [row["event_id"] for row in api.get(f"{one}/dead-letters").json] == ["1"]


def test_the_lag_is_a_metric(api: Api):
    made = api.post(PATH, BODY).json
    names = {family.name for family in scrape.measure()}
    assert "mesh_delivery_lag_seconds" in names
    assert made["id"] in str(scrape.measure())


def test_the_admin_makes_changes_tries_out_and_sends_again(inside: Path):
    browser = client_of(person("admin"))
    add = "/admin/delivery/subscription/add/"
    sent = {**form_data(browser, add), "name": "by hand", "stream": "audit"}
    sent |= {"type": "webhook", "url": "https://siem.test/x", "enabled": "on"}
    sent["activities"] = ["group.*"]
    refused = browser.post(add, {**sent, "url": "ftp://x"})
    assert errors_of(refused).keys() == {"url"}
    made = browser.post(add, sent)
    assert made.status_code == 302
    assert "whsec_" in texts_of(made)
    one = Subscription.objects.get()
    assert one.filters == {"activity_code": ["group.*"]}
    change = f"/admin/delivery/subscription/{one.pk}/change/"
    saved = browser.post(change, {**form_data(browser, change), "name": "renamed"})
    assert saved.status_code == 302, errors_of(saved)
    page = f"/admin/delivery/subscription/{one.pk}/sending/"
    assert browser.post(page, {"test": "1"}).status_code == 302
    assert "whsec_" in texts_of(browser.post(page, {"secret": "1"}))
    again = {"replay": "1", "start": "2026-01-01", "until": "2026-01-02"}
    assert browser.post(page, again).status_code == 302
    one.refresh_from_db()
    assert one.name == "renamed"
    assert one.test_asked is not None
    assert one.replay_from is not None
    wrong = browser.post(page, {**again, "start": "soon"})
    assert b"must be an ISO 8601 date and time" in wrong.content
    for path in (change, page, "/admin/delivery/deadletter/"):
        assert browser.get(path).status_code == 200


@pytest.mark.parametrize(
    ("query", "here", "away"),
    [
        ("", ("url", "activities"), ("host", "path", "flows", "filters")),
        ("?type=syslog", ("host", "port", "tls"), ("url", "path")),
        ("?type=file&stream=proxy", ("path", "answers"), ("url", "activities")),
        ("?stream=network-traffic", ("url", "flows"), ("activities",)),
    ],
)
def test_the_form_has_the_fields_of_the_chosen_target_alone(
    query: str, here: tuple[str, ...], away: tuple[str, ...]
):
    browser = client_of(person("admin"))
    text = browser.get(f"/admin/delivery/subscription/add/{query}").content.decode()
    assert all(f'name="{name}"' in text for name in here)
    assert not any(f'name="{name}"' in text for name in away)
    others = {"webhook", "syslog", "file"} - {"webhook" if "type" not in query else ""}
    assert sum(f"type={name}" in text for name in others) >= 2


def test_what_is_sent_is_ticked_and_filters_of_the_api_stay(api: Api):
    filters = {"activity_code": ["group.*", "peer.group.add"], "target_type": "group"}
    made = api.post(PATH, {**BODY, "filters": filters}).json
    browser = client_of(person("admin"))
    page = f"/admin/delivery/subscription/{made['id']}/change/"
    shown = form_data(browser, page)
    assert shown["activities"] == ["group.*", "peer.group.add"]
    chosen = {**shown, "activities": ["group.*", "policy.*"]}
    assert browser.post(page, chosen).status_code == 302
    assert Subscription.objects.get().filters == {
        "activity_code": ["group.*", "policy.*"],
        "target_type": "group",
    }
    assert browser.post(page, {**shown, "activities": []}).status_code == 302
    assert Subscription.objects.get().filters == {"target_type": "group"}


def test_the_last_event_is_shown_as_it_would_be_sent(api: Api):
    made = api.post(PATH, {**BODY, "filters": {"activity_code": ["group.add"]}}).json
    group("Previewed")
    browser = client_of(person("admin"))
    page = f"/admin/delivery/subscription/{made['id']}/sending/"
    text = browser.get(page).content.decode()
    assert "&quot;type&quot;: &quot;audit.events&quot;" in text
    assert "Previewed" in text


def test_an_auditor_looks_and_changes_nothing(inside: Path, api: Api):
    made = api.post(PATH, BODY).json
    browser = client_of(person("auditor"))
    page = f"/admin/delivery/subscription/{made['id']}/sending/"
    shown = browser.get(page)
    assert shown.status_code == 200
    assert b"Send a test event" not in shown.content
    assert browser.post(page, {"test": "1"}).status_code == 403
    assert b"Add" not in browser.get("/admin/delivery/subscription/").content


def test_failing_deliveries_are_on_the_first_page(api: Api):
    api.post(PATH, BODY)
    browser = client_of(person("admin"))
    Subscription.objects.all().unaudited_update(failures=3)
    assert b"failing subscription" in browser.get("/admin/").content
    listed = browser.get("/admin/delivery/subscription/?state=failing")
    assert b"to the SIEM" in listed.content
