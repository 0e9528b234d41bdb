"""An event that is sent while somebody waits: request and answer on the page."""

import re
from dataclasses import replace
from html import unescape
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections
from django.test import Client

from events.models import AuditEvent
from events.streams import batches
from events.streams.catalogue import PROXY
from groups.services import group_create
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders import addresses
from tests.admin.signed_in import client_of
from tests.delivery.conftest import Make
from tests.delivery.receivers import Receiver, answer, hang, hang_up, lie
from tests.events.samples import proxy
from tests.people import person

pytestmark = pytest.mark.django_db


def sending(made: Subscription) -> str:
    """Return the path of the page with the button."""
    return f"/admin/delivery/subscription/{made.pk}/sending/"


def send(made: Subscription, browser: Client | None = None) -> str:
    """Press the button; return what the page says of it."""
    page = (browser or client_of(person("admin"))).post(sending(made), {"now": "1"})
    assert page.status_code == 200
    [told] = re.findall(
        r'<section class="module" aria-labelledby="talk">.*?</section>',
        page.content.decode(),
        re.DOTALL,
    )
    return unescape(re.sub(r"<[^>]+>", " ", told))


def test_request_and_answer_are_shown_and_the_place_in_the_stream_stays(
    subscribe: Make, receiver: Receiver
):
    made = subscribe().subscription
    before = Subscription.objects.values().get()
    browser = client_of(person("admin"))
    group_create(name="Told of")
    told = send(made, browser)
    assert "Delivered" in told
    assert f"POST http://127.0.0.1:{receiver.port}/hook?***" in told
    assert "x=1" not in told
    assert "webhook-signature: ***" in told
    assert f"webhook-id: {receiver.headers[0]['webhook-id']}" in told
    assert receiver.headers[0]["webhook-signature"] not in told
    assert "204 No Content" in told
    [message] = receiver.messages
    assert message["type"] == "audit.events"
    assert message["data"][0]["meta"]["name"] == "Told of"
    assert '"name":"Told of"' in told
    assert Subscription.objects.values().get() == before
    newest = AuditEvent.objects.order_by("-id")[0]
    assert newest.activity_code == "event.subscription.test"


def test_without_an_event_a_sample_goes_out(subscribe: Make, receiver: Receiver):
    assert "Delivered" in send(subscribe("proxy").subscription)
    assert receiver.messages[0]["type"] == "test"


@pytest.mark.postgresql
def test_the_last_event_is_none_from_before_arrivals_were_counted(
    subscribe: Make, receiver: Receiver
):
    made = subscribe("proxy").subscription
    for name in ("old", "new"):
        batches.ingest_events(PROXY, [proxy(id=name)])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE events_proxyentry SET n = NULL WHERE id = 'old'")
    send(made)
    assert receiver.confirmed == ["new"]


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (answer(410), "Not delivered: the receiver answered 410"),
        (answer(422), "Not delivered: the receiver answered 422"),
        (answer(302, Location="http://127.0.0.1:1/"), "Location: http://127.0.0.1:1/"),
        (lie, "Not delivered: the answer ended early"),
        (hang_up, "Not delivered: no HTTP answer"),
    ],
    ids=["gone", "refused", "redirect", "lie", "hang up"],
)
def test_what_a_receiver_does_wrong_is_shown_and_changes_nothing(
    subscribe: Make, receiver: Receiver, behaviour: Any, said: str
):
    made = subscribe().subscription
    receiver.behaviours = [behaviour]
    told = send(made)
    assert said in told
    assert "POST http://" in told
    assert len(receiver.messages) == 1
    after = Subscription.objects.get()
    assert after.enabled
    assert after.failures == 0


def test_nobody_waits_longer_than_a_delivery(
    subscribe: Make, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(addresses, "WHOLE_SECONDS", 0.1)
    receiver.behaviours = [hang]
    assert "Not delivered" in send(subscribe().subscription)


def test_a_long_and_hostile_answer_is_cut_and_stays_text(
    subscribe: Make, receiver: Receiver
):
    def shout(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        body = b"<script>alert(1)</script>\x1b[31m" + b"\xff" * 9_000
        handler.send_response(200)
        handler.send_header("Set-Cookie", "sid=hidden")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    receiver.behaviours = [shout]
    path = sending(subscribe().subscription)
    page = client_of(person("admin")).post(path, {"now": "1"}).content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "hidden" not in page.partition('aria-labelledby="talk"')[2].partition(
        "</section>"
    )[0].replace('type="hidden"', "")
    assert "and 4934 bytes more" in page


def test_inside_addresses_are_refused_as_for_deliveries(
    subscribe: Make, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    made = subscribe().subscription
    closed = replace(settings.SVC, delivery_allowed_networks=())
    monkeypatch.setattr(settings, "SVC", closed)
    assert "leads into an internal network" in send(made)
    assert receiver.messages == []


def test_nobody_is_locked_out_while_it_waits(subscribe: Make, receiver: Receiver):
    mine = connections["default"]  # of this thread, which the page is made in
    depths = [len(mine.savepoint_ids)]

    def note(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        depths.append(len(mine.savepoint_ids))
        answer(204)(handler, message)

    receiver.behaviours = [note]
    send(subscribe().subscription)
    assert depths[1] == depths[0], "no write waits"


def test_only_who_may_change_subscriptions_sends_and_only_by_post(
    subscribe: Make, receiver: Receiver, inside: Path
):
    path = sending(subscribe().subscription)
    auditor = client_of(person("auditor"))
    assert b"Send the last event now" not in auditor.get(path).content
    assert auditor.post(path, {"now": "1"}).status_code == 403
    admin = client_of(person("admin"))
    assert b"Send the last event now" in admin.get(path, {"now": "1"}).content
    admin.handler.enforce_csrf_checks = True
    assert admin.post(path, {"now": "1"}).status_code == 403
    assert receiver.messages == []


def test_other_targets_have_no_such_button(subscribe: Make):
    target = {"type": "file", "path": "events"}
    path = sending(subscribe(target=target).subscription)
    page = client_of(person("admin")).get(path).content
    assert b"Send a test event" in page
    assert b"Send the last event now" not in page
