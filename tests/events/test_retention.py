"""Old events go by whole days, and inserts never wait long for it."""

import dataclasses
import threading
import time
from datetime import date, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from events.activities import Activity
from events.models import AuditEvent, ProxyEntry, TrafficEvent, TrafficTally
from events.streams import batches, housekeeping, partitions, retention
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.core import clock
from tests.events.samples import moment, proxy, traffic

DAY = 24 * 60


def keep(monkeypatch: pytest.MonkeyPatch, **days: int | None) -> None:
    """Set the retention of the streams, in days."""
    names: dict[str, Any] = {
        f"{stream}_retention_days": n for stream, n in days.items()
    }
    monkeypatch.setattr(settings, "SVC", dataclasses.replace(settings.SVC, **names))


def day(ago: int) -> date:
    """Return the date `ago` days before today."""
    return (clock.now() - timedelta(days=ago)).date()


@pytest.mark.django_db(transaction=True)
def test_what_is_too_old_goes_and_the_rest_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batches.ingest_events(
        TRAFFIC, [traffic(id=str(n), window_end=moment(n * DAY)) for n in range(9)]
    )
    batches.ingest_events(PROXY, [proxy(timestamp=moment(n * DAY)) for n in range(6)])
    keep(monkeypatch, traffic=4, proxy=None, audit=None)
    planned = retention.prune(dry_run=True)
    assert TrafficEvent.objects.count() == 9
    assert retention.prune() == planned
    kept = {event.time.date() for event in TrafficEvent.objects.all()}
    first = planned[0].before
    assert first == (clock.now() - timedelta(days=4, hours=1)).date()
    assert kept == {day(n) for n in range(9) if day(n) >= first}
    assert planned[0].rows == 9 - len(kept)
    assert {tally.day for tally in TrafficTally.objects.all()} == kept
    assert ProxyEntry.objects.count() == 6
    assert TrafficEvent.objects.filter(search__holds="laptop").count() == len(kept)


@pytest.mark.django_db(transaction=True)
def test_pruning_again_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    batches.ingest_events(TRAFFIC, [traffic(window_end=moment(9 * DAY))])
    keep(monkeypatch, traffic=4, proxy=7, audit=None)
    assert [found.rows for found in retention.prune()] == [1, 0]
    assert [found.rows for found in retention.prune()] == [0, 0]


@pytest.mark.django_db(transaction=True)
def test_audit_events_go_only_when_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    with clock.set_to(clock.now() - timedelta(days=40)):
        AuditEvent(activity_code=Activity.ROUTE_ADD, timestamp=clock.now()).save()
    AuditEvent(activity_code=Activity.ROUTE_ADD).save()
    keep(monkeypatch, traffic=None, proxy=None, audit=None)
    assert retention.prune() == []
    keep(monkeypatch, traffic=None, proxy=None, audit=30)
    assert [found.rows for found in retention.prune(dry_run=True)] == [1]
    assert [found.rows for found in retention.prune()] == [1]
    assert AuditEvent.objects.filter(activity_code="route.add").count() == 1


postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no partitions"
)


@postgresql
@pytest.mark.django_db(transaction=True)
def test_housekeeping_makes_the_coming_days() -> None:
    housekeeping.make_partitions()
    for stream in (TRAFFIC, PROXY):
        assert {day(0), day(-1), day(-2)} <= partitions.attached(stream).keys()


@postgresql
@pytest.mark.django_db(transaction=True)
def test_a_drop_that_was_interrupted_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ago = day(20)
    partitions.ensure(TRAFFIC, [ago])
    name = partitions.partition_name(TRAFFIC, ago)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {TRAFFIC.table} DETACH PARTITION {name}")
    assert partitions.detached(TRAFFIC) == [ago]
    keep(monkeypatch, traffic=4, proxy=None, audit=None)
    retention.prune()
    assert partitions.detached(TRAFFIC) == []


@postgresql
@pytest.mark.django_db(transaction=True)
def test_dropping_a_day_holds_up_no_ingest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Insert batch after batch while old days are dropped under them."""
    keep(monkeypatch, traffic=30, proxy=None, audit=None)
    for ago in range(10, 16):
        batches.ingest_events(
            TRAFFIC,
            [traffic(id=f"{ago}-{n}", window_end=moment(ago * DAY)) for n in range(50)],
        )
    done = threading.Event()
    inserted = threading.Semaphore(0)
    slowest: list[float] = []
    failures: list[Exception] = []

    def ingest() -> None:
        number = 0
        try:
            while not done.is_set():
                number += 1
                batch = [traffic(id=f"new-{number}-{n}") for n in range(50)]
                started = time.perf_counter()
                batches.ingest_events(TRAFFIC, batch)
                slowest.append(time.perf_counter() - started)
                inserted.release()
        except Exception as error:
            failures.append(error)
        finally:
            inserted.release(99)
            connection.close()

    writer = threading.Thread(target=ingest)
    writer.start()
    try:
        for ago in range(15, 9, -1):
            inserted.acquire()
            partitions.drop(TRAFFIC, [day(ago)])
    finally:
        done.set()
        writer.join()
    assert not failures
    assert len(slowest) >= 6
    assert max(slowest) < 1.0
    assert not {day(n) for n in range(10, 16)} & partitions.attached(TRAFFIC).keys()
