"""From the streams to a real receiver: order, no loss, what failures do."""

import json
import socket
import time
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db.models import QuerySet

from events.models import ProxyEntry
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC
from groups.services import group_create
from meshmgmt.core import clock
from meshmgmt.core.errors import Conflict
from meshmgmt.delivery import worker
from meshmgmt.delivery.feeds import following
from meshmgmt.delivery.models import DeadLetter, Subscription
from meshmgmt.delivery.rules import MAX_BYTES
from meshmgmt.delivery.senders import addresses, webhook
from meshmgmt.delivery.senders.webhook import key_of
from meshmgmt.delivery.services import (
    subscription_delete,
    subscription_replay,
    subscription_secret,
    subscription_switch_off,
    subscription_test,
    subscription_update,
)
from tests.delivery.conftest import Make
from tests.delivery.receivers import Receiver, answer, collecting, hang, hang_up, lie
from tests.events.samples import moment, proxy, traffic

pytestmark = pytest.mark.django_db


@pytest.fixture
def pk(subscribe: Make) -> str:
    """A subscription to entries of the proxy."""
    return subscribe("proxy").subscription.pk


def deliver(pk: str) -> Subscription:
    """Serve one subscription as housekeeping does, and return what it is then."""
    Subscription.objects.filter(pk=pk).unaudited_update(next_attempt=None)
    worker.deliver(pk, time.monotonic() + 10)
    return Subscription.objects.get(pk=pk)


def arrive(*ids: str, **facts: Any) -> None:
    batches.ingest_events(PROXY, [proxy(id=one, **facts) for one in ids])


def signature(secrets: list[str], headers: dict[str, str], body: bytes) -> str:
    """Return what a message would be signed with by these secrets."""
    keys = [key_of(secret) for secret in secrets]
    stamp = int(headers["webhook-timestamp"])
    with clock.set_to(datetime.fromtimestamp(stamp, UTC)):
        signed = webhook.signed(keys, headers["webhook-id"], body)
    return signed["webhook-signature"]


def test_what_was_before_the_subscription_is_not_sent(
    subscribe: Make, receiver: Receiver
):
    group_create(name="before")
    made = subscribe()
    group_create(name="after")
    done = deliver(made.subscription.pk)
    assert done.last_success is not None
    told = [event["meta"] for m in receiver.messages for event in m["data"]]
    names = [meta.get("name") for meta in told]
    assert "after" in names
    assert "before" not in names


def test_a_message_is_signed_by_the_secret_that_was_shown(
    subscribe: Make, receiver: Receiver
):
    made = subscribe("proxy")
    arrive("a", "b")
    deliver(made.subscription.pk)
    [headers], [body] = receiver.headers, receiver.bodies
    assert headers["webhook-signature"] == signature([made.secret], headers, body)
    assert headers["host"] == f"127.0.0.1:{receiver.port}"
    message = json.loads(body)
    assert message["type"] == "proxy.events"
    assert [event["id"] for event in message["data"]] == ["a", "b"]
    assert made.secret.encode() not in bytes(made.subscription.sealed_secret)


def test_the_secret_before_signs_for_a_day_too(subscribe: Make, receiver: Receiver):
    made = subscribe("proxy")
    pk = made.subscription.pk
    given = [made.secret, *(subscription_secret(subscription_id=pk) for _ in range(2))]
    for since, signing in ((23, [given[2], given[1]]), (25, [given[2]])):
        when = clock.now() - timedelta(hours=since)
        one = Subscription.objects.get(pk=pk)
        one.secret_made = when
        one.save(update_fields=["secret_made"])
        arrive(f"after {since} hours")
        deliver(pk)
        headers, body = receiver.headers[-1], receiver.bodies[-1]
        assert headers["webhook-signature"] == signature(signing, headers, body)
        assert headers["webhook-signature"].count("v1,") == len(signing)


def test_an_event_that_comes_late_is_sent_too(pk: str, receiver: Receiver):
    arrive("new", timestamp=moment(1))
    deliver(pk)
    arrive("late", timestamp=moment(60 * 24))
    deliver(pk)
    assert receiver.confirmed == ["new", "late"]


def test_arrivals_are_numbered_in_their_order_whatever_their_times():
    arrive("first", timestamp=moment(1))
    arrive("second", timestamp=moment(300))
    arrive("third", timestamp=moment(100))
    order = ProxyEntry.objects.order_by("arrival").values_list("id", flat=True)
    assert list(order) == ["first", "second", "third"]


def test_traffic_goes_too_and_filters_are_those_of_the_list(
    subscribe: Make, receiver: Receiver
):
    made = subscribe("network-traffic", filters={"protocol": "17"})
    batches.ingest_events(TRAFFIC, [traffic(id="t"), traffic(id="u", protocol=17)])
    done = deliver(made.subscription.pk)
    assert receiver.confirmed == ["u"]
    batches.ingest_events(TRAFFIC, [traffic(id="v")])
    assert deliver(made.subscription.pk).cursor > done.cursor
    assert receiver.confirmed == ["u"]


@pytest.mark.parametrize(
    "fault", [answer(500), answer(302, Location="/"), lie, hang_up]
)
def test_a_batch_that_fails_is_sent_again_under_the_same_id(
    pk: str, receiver: Receiver, fault: Any
):
    arrive("a", "b")
    receiver.behaviours = [fault]
    failed = deliver(pk)
    assert failed.failures == 1
    assert failed.last_error
    assert failed.next_attempt is not None
    assert failed.next_attempt > clock.now()
    arrive("c")
    done = deliver(pk)
    assert receiver.confirmed == ["a", "b", "c"]
    assert (done.failures, done.last_error) == (0, "")
    first, second = receiver.headers[:2]
    assert first["webhook-id"] == second["webhook-id"]


def test_a_receiver_that_hangs_is_given_up(
    pk: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(addresses, "ANSWER_SECONDS", 0.2)
    arrive("a")
    receiver.behaviours = [hang]
    assert "time" in deliver(pk).last_error
    deliver(pk)
    assert receiver.confirmed == ["a"]


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("3600", 3590, 3610),
        ("-5", 0, 10),
        ("soon", 0, 10),
        ("9" * 30, 0, 10),
        (f"Thu, 01 Jan {'9' * 20} 00:00:00 GMT", 0, 10),
    ],
)
def test_retry_after_is_honoured_where_it_makes_sense(
    pk: str, receiver: Receiver, header: str, least: int, most: int
):
    arrive("a")
    receiver.behaviours = [answer(503, Retry_After=header)]
    failed = deliver(pk)
    assert failed.next_attempt is not None
    wait = failed.next_attempt - clock.now()
    assert timedelta(seconds=least) < wait < timedelta(seconds=most)


def test_a_fault_of_our_own_is_a_failure_too_and_waits(
    pk: str, monkeypatch: pytest.MonkeyPatch
):
    arrive("a")
    monkeypatch.setitem(worker._SENDERS, "webhook", lambda *_: 1 / 0)
    failed = deliver(pk)
    assert failed.failures == 1
    assert failed.next_attempt is not None
    assert failed.last_error == "ZeroDivisionError: division by zero"


def test_only_the_event_that_is_refused_becomes_a_dead_letter(
    pk: str, receiver: Receiver
):
    arrive(*(f"e{n:02}" for n in range(20)))
    receiver.refuses = lambda message: any(e["id"] == "e07" for e in message["data"])
    deliver(pk)
    assert receiver.confirmed == [f"e{n:02}" for n in range(20) if n != 7]
    letter = DeadLetter.objects.get()
    assert (letter.event_id, letter.error) == ("e07", "the receiver answered 422")


def test_only_so_many_dead_letters_are_kept(pk: str, receiver: Receiver, settings: Any):
    settings.SVC = replace(settings.SVC, delivery_dead_letters=3)
    receiver.refuses = lambda message: True
    arrive(*(f"e{n}" for n in range(5)))
    deliver(pk)
    letters = DeadLetter.objects.order_by("id").values_list("event_id", flat=True)
    assert list(letters) == ["e2", "e3", "e4"]


def test_a_receiver_that_is_gone_switches_the_subscription_off(
    pk: str, receiver: Receiver
):
    arrive("a")
    receiver.behaviours = [answer(410)]
    done = deliver(pk)
    assert not done.enabled
    assert "410" in done.last_error
    assert not DeadLetter.objects.exists()
    deliver(pk)
    assert receiver.confirmed == []


def test_what_was_changed_meanwhile_is_not_switched_off(pk: str, receiver: Receiver):
    seen = Subscription.objects.get(pk=pk)
    subscription_update(subscription_id=seen.pk, changes={"name": "another"})
    subscription_switch_off(seen, "the receiver answered 410")
    left = Subscription.objects.get(pk=seen.pk)
    assert left.enabled
    assert not left.last_error
    subscription_delete(subscription_id=seen.pk)
    subscription_switch_off(left, "the receiver answered 410")


def test_a_replay_sends_a_range_of_times_again_before_what_is_new(
    pk: str, receiver: Receiver
):
    for number in range(5):
        arrive(f"m{number}", timestamp=moment(50 - 10 * number))
    deliver(pk)
    receiver.confirmed.clear()
    Subscription.objects.filter(pk=pk).unaudited_update(batch_limit=2)
    now = clock.now()
    subscription_replay(
        subscription_id=pk,
        start=now - timedelta(minutes=45),
        end=now - timedelta(minutes=15),
    )
    Subscription.objects.filter(pk=pk).unaudited_update(batch_limit=1)
    arrive("new")
    done = deliver(pk)
    assert receiver.confirmed == ["m1", "m2", "m3", "new"]
    assert done.replay_from is None


def test_a_second_replay_is_refused_until_the_first_is_sent(
    pk: str, receiver: Receiver
):
    arrive("old", timestamp=moment(50))
    arrive("new", timestamp=moment(10))
    deliver(pk)
    start, middle = (clock.now() - timedelta(minutes=m) for m in (60, 30))

    def again(since: datetime) -> None:
        subscription_replay(subscription_id=pk, start=since, end=None)

    def refused() -> None:
        with pytest.raises(Conflict, match=f"{start:%Y-%m-%dT%H:%M:%SZ} to "):
            again(middle)

    again(start)
    refused()
    receiver.messages.clear()
    receiver.behaviours = [answer(204), answer(503)]
    Subscription.objects.filter(pk=pk).unaudited_update(batch_limit=1)
    deliver(pk)
    refused()
    done = deliver(pk)
    sent = [event["id"] for m in receiver.messages for event in m["data"]]
    assert (sent, done.replay_from) == (["old", "new", "new"], None)
    receiver.confirmed.clear()
    again(middle)
    deliver(pk)
    assert receiver.confirmed == ["new"]


def test_of_large_events_no_more_are_read_than_are_sent(
    subscribe: Make, receiver: Receiver
):
    made = subscribe("proxy")
    arrive(*map(str, range(100)))
    QuerySet(ProxyEntry).update(body='"' + "x" * MAX_BYTES + '"')
    tracemalloc.start()
    try:
        batch = following(made.subscription)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [event.id for event in batch.events] == ["0"]
    assert peak < 50 * MAX_BYTES


def test_a_test_event_is_sent_even_while_it_is_switched_off(
    subscribe: Make, receiver: Receiver
):
    made = subscribe(enabled=False)
    subscription_test(subscription_id=made.subscription.pk)
    done = deliver(made.subscription.pk)
    assert done.test_result.endswith(": delivered")
    assert receiver.messages[0]["type"] == "test"
    assert done.test_asked is None


def test_a_sender_that_was_overtaken_writes_nothing(pk: str):
    old = Subscription.objects.get(pk=pk)
    Subscription.objects.filter(pk=pk).unaudited_update(revision=99)
    assert not worker._save(old, cursor=1)
    assert Subscription.objects.get(pk=pk).cursor == old.cursor


def test_syslog_gets_a_frame_an_event(subscribe: Make):
    with collecting() as (port, contents):
        made = subscribe(
            "proxy", target={"type": "syslog", "host": "127.0.0.1", "port": port}
        )
        arrive("a", "b")
        done = deliver(made.subscription.pk)
        assert done.last_success is not None
    [content] = contents
    length, _, rest = content.partition(b" ")
    first = rest[: int(length)]
    assert first.startswith(b"<134>1 ")
    assert b'id="a"' in first
    assert json.loads(first[first.index(b"] ") + 2 :])["id"] == "a"
    assert rest[int(length) :].partition(b" ")[0].isdigit()


def test_a_file_gets_a_line_an_event(subscribe: Make, inside: Path):
    made = subscribe("proxy", target={"type": "file", "path": "siem/proxy.ndjson"})
    arrive("a", "b")
    deliver(made.subscription.pk)
    arrive("c")
    deliver(made.subscription.pk)
    lines = (inside / "siem/proxy.ndjson").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b", "c"]


def test_a_webhook_may_be_at_an_address_of_ipv6(subscribe: Make):
    target = {"type": "webhook", "url": "https://[2001:db8::a]/events"}
    made = subscribe("proxy", target=target)
    arrive("a")
    failed = deliver(made.subscription.pk)
    assert failed.failures == 1
    assert "2001:db8::a leads into an internal network" in failed.last_error


def test_a_syslog_receiver_that_drips_is_cut_and_has_received_nothing(
    subscribe: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(addresses, "WHOLE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            with server.accept()[0] as connection, suppress(OSError):
                while True:
                    connection.sendall(b".")
                    time.sleep(0.01)

        dripping = Thread(target=drip)
        dripping.start()
        port = server.getsockname()[1]
        target = {"type": "syslog", "host": "127.0.0.1", "port": port}
        made = subscribe("proxy", target=target)
        arrive("a")
        failed = deliver(made.subscription.pk)
        dripping.join()
    assert (failed.failures, failed.cursor) == (1, 0)
    assert "took longer" in failed.last_error


@pytest.mark.parametrize("host", ["a..test", "a" * 64 + ".test"])
def test_a_name_that_no_host_can_have_is_a_failure(subscribe: Make, host: str):
    target = {"type": "syslog", "host": host, "port": 514}
    made = subscribe("proxy", target=target)
    arrive("a")
    failed = deliver(made.subscription.pk)
    assert failed.failures == 1
    assert failed.last_error == f"{host} is no name of a host"


def test_an_inside_address_is_refused_when_it_is_connected_to(
    pk: str, receiver: Receiver, settings: Any
):
    arrive("a")
    settings.SVC = replace(settings.SVC, delivery_allowed_networks=())
    failed = deliver(pk)
    assert "internal network" in failed.last_error
    assert receiver.messages == []
