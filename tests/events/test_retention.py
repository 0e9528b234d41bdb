"""Old events go by whole days, and inserts never wait long for it."""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import DatabaseError, connection

from events.activities import Activity
from events.audit import retention as trail_retention
from events.models import AuditEvent, ProxyEntry, TrafficEvent, TrafficTally
from events.pruning import CHUNK
from events.streams import batches, pages, partitions, retention
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.core import clock
from meshmgmt.core.queries import execute
from tests.events.backends import failing
from tests.events.days import DAY, day, detach, detach_half, keep, store_day, totals
from tests.events.samples import moment, proxy, traffic
from tests.races import going_on

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_too_old_goes_and_the_rest_stays(monkeypatch: pytest.MonkeyPatch):
    batches.ingest_events(
        TRAFFIC, [traffic(id=str(n), window_end=moment(n * DAY)) for n in range(9)]
    )
    batches.ingest_events(PROXY, [proxy(timestamp=moment(n * DAY)) for n in range(6)])
    keep(monkeypatch, traffic=4)
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


def test_pruning_again_does_nothing(monkeypatch: pytest.MonkeyPatch):
    batches.ingest_events(TRAFFIC, [traffic(window_end=moment(9 * DAY))])
    keep(monkeypatch, traffic=4, proxy=7)
    assert [found.rows for found in retention.prune()] == [1, 0]
    assert [found.rows for found in retention.prune()] == [0, 0]


def test_audit_events_go_only_when_configured(monkeypatch: pytest.MonkeyPatch):
    with clock.set_to(clock.now() - timedelta(days=40)):
        AuditEvent(activity_code=Activity.ROUTE_ADD, timestamp=clock.now()).save()
    AuditEvent(activity_code=Activity.ROUTE_ADD).save()
    keep(monkeypatch)
    assert trail_retention.prune() == []
    keep(monkeypatch, audit=30)
    assert [found.rows for found in trail_retention.prune(dry_run=True)] == [1]
    assert [found.rows for found in trail_retention.prune()] == [1]
    assert AuditEvent.objects.filter(activity_code="route.add").count() == 1


def test_the_trail_tells_which_of_its_events_went(monkeypatch: pytest.MonkeyPatch):
    for ago in (40, 40, 0, 40, 40, 0, 40):
        with clock.set_to(clock.now() - timedelta(days=ago)):
            AuditEvent(activity_code=Activity.ROUTE_ADD, timestamp=clock.now()).save()
    routes = AuditEvent.objects.filter(activity_code="route.add")
    first = routes.order_by("id")[0].pk
    keep(monkeypatch, audit=30)
    trail_retention.prune()
    trail_retention.prune()
    [told] = AuditEvent.objects.filter(activity_code="audit.prune")
    assert told.initiator_id == "system"
    assert told.meta["events"] == "5"
    ranges = f"{first}-{first + 1}, {first + 3}-{first + 4}, {first + 6}"
    assert told.meta["ids"].endswith(ranges)
    assert {event.pk for event in routes} == {first + 2, first + 5}


postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no partitions"
)


@postgresql
def test_housekeeping_makes_the_coming_days():
    partitions.make_ahead()
    for stream in (TRAFFIC, PROXY):
        assert {day(0), day(-1), day(-2)} <= partitions.attached(stream).keys()


@postgresql
@pytest.mark.parametrize("interrupted", [detach, detach_half])
def test_the_next_run_puts_right_what_an_interrupted_one_left(
    monkeypatch: pytest.MonkeyPatch, interrupted: Callable[[int], None]
):
    for ago in (0, 8, 9):
        store_day(ago)
    keep(monkeypatch, traffic=4)
    interrupted(8)
    assert totals() == (6, 9)
    assert (partitions.detached(TRAFFIC) == [day(8)]) is (interrupted is detach)
    retention.prune()
    assert totals() == (3, 3)
    assert partitions.detached(TRAFFIC) == []
    assert not {day(8), day(9)} & partitions.attached(TRAFFIC).keys()


@postgresql
def test_a_day_and_its_tallies_go_together_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
):
    # Other tests left days without events.
    partitions.drop(
        TRAFFIC, [old for old in partitions.attached(TRAFFIC) if old < day(4)]
    )
    for ago in (0, 9):
        store_day(ago)
    keep(monkeypatch, traffic=4)
    with (
        failing("DELETE", TrafficTally._meta.db_table, "stopped"),
        pytest.raises(DatabaseError, match="stopped"),
    ):
        retention.prune()
    assert partitions.detached(TRAFFIC) == [day(9)]
    assert pages.everything(TRAFFIC) == 6
    retention.prune()
    assert totals() == (3, 3)


@postgresql
def test_tallies_without_their_day_go(monkeypatch: pytest.MonkeyPatch):
    for ago in (0, 9):
        store_day(ago)
    execute(f"DROP TABLE {partitions.partition_name(TRAFFIC, day(9))}")
    keep(monkeypatch, traffic=4)
    assert totals() == (3, 6)
    retention.prune()
    assert totals() == (3, 3)


@postgresql
@pytest.mark.parametrize("interrupted", [detach, detach_half])
def test_a_late_event_brings_a_half_dropped_day_back_with_its_events(
    interrupted: Callable[[int], None],
):
    then = moment(9 * DAY)
    early = [traffic(id=f"early-{n}", window_end=then) for n in range(3)]
    batches.ingest_events(TRAFFIC, early)
    interrupted(9)
    assert totals() == (0, 3)
    stored = batches.ingest_events(
        TRAFFIC, [*early, traffic(id="late", window_end=then)]
    )
    assert (stored.accepted, stored.duplicates) == (1, 3)
    assert totals() == (4, 4)


@postgresql
@pytest.mark.parametrize("interrupted", [detach, detach_half])
def test_a_half_dropped_day_comes_back_when_it_is_kept_after_all(
    monkeypatch: pytest.MonkeyPatch, interrupted: Callable[[int], None]
):
    for ago in (9, 20):
        store_day(ago)
    interrupted(9)
    keep(monkeypatch, traffic=15)
    retention.prune()
    assert totals() == (3, 3)
    assert partitions.attached(TRAFFIC)[day(9)] is False


@postgresql
def test_batches_into_a_day_that_is_being_dropped_are_stored():
    """A run that is told to keep less than the server drops days it still takes."""

    def ingest(writer: str, number: int) -> None:
        names = [(n, f"{writer}-{number}-{n}") for n in (9, 10)]
        batch = [traffic(id=name, window_end=moment(n * DAY)) for n, name in names]
        batches.ingest_events(TRAFFIC, batch)

    with going_on(*(partial(ingest, writer) for writer in "abc")) as stored:
        for _ in range(12):
            for _ in range(3):
                stored.acquire()
            retention.drop_days(TRAFFIC, day(8))
    counted, tallied = totals()
    assert counted == tallied


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL drops days whole")
def test_totals_are_right_when_deleting_stops_half_way():
    for ago in (7, 9):
        store_day(ago, CHUNK)
    trigger = (
        f"CREATE TRIGGER stop BEFORE DELETE ON {TRAFFIC.table} WHEN old.id = '7-1'"
        " BEGIN SELECT RAISE(ABORT, 'stopped'); END"
    )
    execute(trigger)
    try:
        with pytest.raises(DatabaseError, match="stopped"):
            retention.drop_days(TRAFFIC, day(3))
    finally:
        execute("DROP TRIGGER stop")
    assert totals() == (CHUNK, CHUNK)
    retention.drop_days(TRAFFIC, day(3))
    assert totals() == (0, 0)
    assert not TrafficTally.objects.exists()


@postgresql
def test_dropping_a_day_holds_up_no_ingest(monkeypatch: pytest.MonkeyPatch):
    keep(monkeypatch, traffic=30)
    for ago in range(10, 16):
        store_day(ago, 50)
    slowest: list[float] = []

    def ingest(number: int) -> None:
        batch = [traffic(id=f"new-{number}-{n}") for n in range(50)]
        started = time.perf_counter()
        batches.ingest_events(TRAFFIC, batch)
        slowest.append(time.perf_counter() - started)

    with going_on(ingest) as inserted:
        for ago in range(15, 9, -1):
            inserted.acquire()
            partitions.drop(TRAFFIC, [day(ago)])
    assert len(slowest) >= 6
    assert max(slowest) < 5.0  # generous: a busy machine
    assert not {day(n) for n in range(10, 16)} & partitions.attached(TRAFFIC).keys()
