"""A receiver that is killed again and again: nothing lost, order kept, repeats known."""

import os
import random
import resource
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from events.streams import batches
from events.streams.catalogue import PROXY
from meshmgmt.core import clock
from meshmgmt.delivery import rules, worker
from meshmgmt.delivery.models import Subscription
from tests.delivery.conftest import Make
from tests.delivery.receivers import Receiver, answer, hang_up, lie
from tests.events.samples import moment, proxy
from tests.waiting import until


@dataclass(frozen=True)
class Load:
    """How many events come, in how many parts, and how often the receiver dies."""

    events: int
    parts: int
    kills: int
    seconds: float


def serve_due(patience: float) -> None:
    """Serve as housekeeping does, and wait so many seconds for it to end."""
    worker.serve_due()
    deadline = time.monotonic() + patience
    for thread in worker._running.values():
        thread.join(max(0.0, deadline - time.monotonic()))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Try again quickly; end what still runs."""
    monkeypatch.setattr(rules, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(rules, "LONGEST_WAIT", 0.2)
    yield
    serve_due(10)


def _send_in(load: Load) -> float:
    """Take the events in; return when the last one was."""
    try:
        size = load.events // load.parts
        begun = last = time.monotonic()
        for part in range(load.parts):
            # Times run backwards: the order is that of arrival.
            when = moment(part * 5)
            batch = [
                proxy(id=f"e{n:06}", timestamp=when)
                for n in range(part * size, (part + 1) * size)
            ]
            batches.ingest_events(PROXY, batch)
            last = time.monotonic()
            due = begun + load.seconds * (part + 1) / load.parts
            time.sleep(max(0.0, due - last))
        return last
    finally:
        connections.close_all()


def _housekeep(receiver: Receiver, load: Load) -> None:
    """Run turns as housekeeping does, and kill the receiver now and then."""
    deadline = time.monotonic() + load.seconds + 30
    kills = [load.seconds * (n + 1) / (load.kills + 1) for n in range(load.kills)]
    begun = time.monotonic()
    while len(set(receiver.confirmed)) < load.events:
        assert time.monotonic() < deadline, len(set(receiver.confirmed))
        if kills and time.monotonic() - begun > kills[0]:
            kills.pop(0)
            receiver.kill()
            serve_due(0.3)
            receiver.start()
            receiver.behaviours = [hang_up, answer(503, Retry_After="soon"), lie]
            random.shuffle(receiver.behaviours)
        serve_due(0.1)
        time.sleep(0.02)
    assert not kills


def _check(subscribe: Make, receiver: Receiver, load: Load) -> float:
    """Send the load and check what came; return the seconds from last to last."""
    made = subscribe("proxy")
    with ThreadPoolExecutor(1) as pool:
        source = pool.submit(_send_in, load)
        _housekeep(receiver, load)
        confirmed = time.monotonic()
        lag = confirmed - source.result()
    serve_due(5)
    wanted = [f"e{n:06}" for n in range(load.events)]
    assert list(dict.fromkeys(receiver.confirmed)) == wanted
    # What came twice came as the same message, or is known by its events' ids.
    seen: dict[str, bytes] = {}
    for headers, body in zip(receiver.headers, receiver.bodies, strict=True):
        assert seen.setdefault(headers["webhook-id"], body) == body
    assert Subscription.objects.get(pk=made.subscription.pk).failures == 0
    return lag


@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_when_the_receiver_is_killed(
    subscribe: Make, receiver: Receiver, soon: None
):
    _check(subscribe, receiver, Load(events=400, parts=8, kills=2, seconds=0.8))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_of_a_long_stream(
    subscribe: Make, receiver: Receiver, soon: None
):
    """10,000 events a minute, and the receiver killed five times.

    DELIVERY_MINUTES=10 makes it long; figures are printed (`-s --timeout 900`).
    """
    minutes = float(os.environ.get("DELIVERY_MINUTES", "0.6"))
    events, parts = int(10_000 * minutes), int(100 * minutes)
    load = Load(events, parts, kills=5, seconds=60 * minutes)
    lag = _check(subscribe, receiver, load)
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    doubled = len(receiver.confirmed) - events
    sys.stdout.write(f"{events=} {doubled=} {lag=:.2f} {mebibytes=}\n")


@pytest.mark.django_db(transaction=True)
def test_nothing_waits_for_a_clock_that_was_set_back(
    subscribe: Make, receiver: Receiver
):
    made = subscribe("proxy")
    batches.ingest_events(PROXY, [proxy(id="a")])
    stored = Subscription.objects.filter(pk=made.subscription.pk)
    for ahead in (timedelta(hours=5), timedelta(days=1)):
        stored.unaudited_update(next_attempt=clock.now() + ahead)
        assert receiver.confirmed == []
        serve_due(5)
    assert receiver.confirmed == ["a"]


@pytest.mark.django_db(transaction=True)
def test_a_receiver_that_hangs_holds_up_no_other(
    subscribe: Make, receiver: Receiver, soon: None
):
    release = threading.Event()
    hanging = subscribe("proxy", name="hangs").subscription

    def wait(handler: Any, message: Any) -> None:
        release.wait(20)

    receiver.behaviours = [wait]
    batches.ingest_events(PROXY, [proxy(id="a")])
    begun = time.monotonic()
    worker.serve_due()
    assert time.monotonic() - begun < 15  # it hangs for 20
    until(lambda: not receiver.behaviours, "a receiver that was asked")
    subscribe("proxy", name="works")
    batches.ingest_events(PROXY, [proxy(id="b")])
    serve_due(0.5)
    assert receiver.confirmed == ["b"]
    release.set()
    serve_due(5)
    assert Subscription.objects.get(pk=hanging.pk).failures == 1
