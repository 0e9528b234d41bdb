"""Sums by hour and day answer what the events themselves would."""

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Final

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import Count
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.api.filters import ProxyFilterSet, TrafficFilterSet
from events.api.summaries import SummaryForm
from events.models import RollUpGap, RollUpMark, TrafficEvent, TrafficRollUp
from events.streams import batches, retention, rollups
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.hours import HOUR, WIDTHS, Span, day_span
from events.streams.subjects import PROXY_SUBJECT, TRAFFIC_SUBJECT, Subject
from events.streams.summaries import events_by, summarise
from meshmgmt.core import clock
from meshmgmt.core.jobs import registered_jobs
from meshmgmt.core.queries import execute
from tests.events.days import detach, keep
from tests.events.samples import moment, proxy, traffic
from tests.events.test_filters import ADDRESSES, IDS
from tests.races import race

pytestmark = pytest.mark.django_db

NOW: Final = datetime(2026, 11, 20, 12, 34, 56, tzinfo=UTC)
BIGGEST: Final = 2**63 - 1
FILTER_SETS: Final = {TRAFFIC: TrafficFilterSet, PROXY: ProxyFilterSet}
SUBJECTS: Final = {TRAFFIC: TRAFFIC_SUBJECT, PROXY: PROXY_SUBJECT}

counters = st.one_of(st.integers(0, 9), st.sampled_from([2**62, BIGGEST]))
kept = st.one_of(
    st.integers(0, 3 * 24 * 60),
    st.integers(0, 6 * 24 * 60),
    st.sampled_from([35, 95, 12 * 60 + 35, 36 * 60 + 35]),
)
"""Some of them name a whole hour, or midnight, together with the seconds below."""
minutes = st.one_of(
    kept, st.integers(0, 20 * 24 * 60), st.just((14 * 24 + 12) * 60 + 35)
)


def ago(number: int) -> str:
    """Return a time so many minutes before `NOW`; every other one is a whole minute."""
    moment = NOW - timedelta(minutes=number)
    return clock.rfc3339(moment.replace(second=0) if number % 2 else moment) or ""


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each run do all there is to do."""
    monkeypatch.setattr(rollups, "WORK_SECONDS", 600)
    monkeypatch.setattr(rollups, "BREATH_SECONDS", 0)


@st.composite
def flows(draw: st.DrawFn) -> dict[str, Any]:
    return traffic(
        reporter_id=draw(st.sampled_from(IDS)),
        user={"id": draw(st.sampled_from(IDS)), "email": "", "name": "A"},
        source={
            "id": draw(st.sampled_from(["", *IDS])),
            "address": draw(st.sampled_from(ADDRESSES)),
        },
        protocol=draw(st.sampled_from([1, 6, 17])),
        direction=draw(st.sampled_from(["INGRESS", "EGRESS"])),
        rx_bytes=draw(counters),
        tx_bytes=draw(counters),
        num_of_drops=draw(st.sampled_from([0, 0, 3])),
        window_end=ago(draw(minutes)),
    )


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    return proxy(
        host=draw(st.sampled_from(["a", "A", "b%"])),
        status_code=draw(st.sampled_from([0, 200, 404, 500])),
        bytes_upload=draw(counters),
        user_id=draw(st.sampled_from(["", "ann"])),
        timestamp=ago(draw(kept)),
    )


TRAFFIC_FILTERS: Final = (
    "",
    "type=type_drop",
    "type=TYPE_START",
    "source=" + IDS[0],
    "source=" + ADDRESSES[0],
    "user_id=" + IDS[1],
    "protocol=6",
    "direction=INGRESS&type=TYPE_DROP",
    "search=laptop",
    "reporter_id=none",
)
PROXY_FILTERS: Final = (
    "",
    "status=failed",
    "status=success",
    "host=a",
    "status_code=404",
    "status_code=500&status=failed",
    "user_id=ann",
    "user_name=nobody",
)


@st.composite
def questions(draw: st.DrawFn, subject: Subject, filters: tuple[str, ...]) -> str:
    groups = st.lists(st.sampled_from([*subject.groups]), min_size=1, max_size=2)
    first, last = sorted([draw(minutes), draw(minutes)], reverse=True)
    parts = [
        f"group_by={','.join(draw(groups))}",
        f"metric={draw(st.sampled_from([*subject.metrics]))}",
        f"start_date={ago(first)}",
        f"end_date={ago(last)}",
        draw(
            st.sampled_from(["", *(f"bucket={x}" for x in ("15m", "1h", "1d", "36h"))])
        ),
        f"limit={draw(st.sampled_from([1, 3, 100]))}",
        draw(st.sampled_from(filters)),
    ]
    return "&".join(parts)


def answered(stream: Stream, query: str, *, by_events: bool = False) -> dict[str, Any]:
    """Return the answer to a question; `by_events` leaves the sums aside."""
    subject: Subject = SUBJECTS[stream]
    filters = FILTER_SETS[stream](
        QueryDict(query), subject.model._default_manager.all()
    )
    form = SummaryForm(subject, QueryDict(query))
    assert form.is_valid()
    assert filters.form.is_valid()
    dates = filters.form.cleaned_data
    question = form.question(dates, filters.undated)
    if by_events:
        known = {x.name: getattr(subject, x.name) for x in dataclasses.fields(Subject)}
        subject = Subject(**known)
    return summarise(subject, filters.qs, filters.undated, question)


def numbered(events: list[dict[str, Any]], first: int = 0) -> list[dict[str, Any]]:
    return [event | {"id": str(n)} for n, event in enumerate(events, first)]


@pytest.mark.parametrize(
    ("stream", "event", "filters"),
    [(TRAFFIC, flows(), TRAFFIC_FILTERS), (PROXY, entries(), PROXY_FILTERS)],
    ids=["traffic", "proxy"],
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_sums_and_what_came_in_since_equal_the_events(
    stream: Stream, event: Any, filters: tuple[str, ...], data: st.DataObject
):
    """Whatever comes in when, whatever is asked, whichever days have gaps."""
    some = st.lists(event, max_size=12)
    gaps = st.lists(st.integers(0, 12), max_size=2)
    asked = st.lists(questions(SUBJECTS[stream], filters), min_size=3, max_size=6)
    with clock.set_to(NOW), transaction.atomic():
        count = 0
        for _ in range(data.draw(st.integers(1, 3))):
            batch = numbered(data.draw(some), count)
            count += len(batch)
            batches.ingest_events(stream, batch)
            if data.draw(st.booleans()):
                with clock.set_to(NOW - timedelta(minutes=data.draw(minutes))):
                    rollups.roll_up(least=1)
            days = {NOW.date() - timedelta(days=n) for n in data.draw(gaps)}
            rollups.leave_gap(stream, days)
        for query in data.draw(asked):
            assert answered(stream, query) == answered(stream, query, by_events=True)
        start = NOW - timedelta(minutes=data.draw(minutes))
        every = SUBJECTS[stream].groups
        for group in data.draw(st.sets(st.sampled_from([*every]), max_size=2)):
            key = every[group].key
            events = stream.model._default_manager.annotate(key=key)
            keys = set(events.values_list("key", flat=True))
            chosen = data.draw(st.sets(st.sampled_from([*keys]))) if keys else keys
            since = events.filter(
                key__in=chosen, **{f"{stream.time_field}__gte": start}
            )
            counts = since.order_by().values_list("key").annotate(number=Count("pk"))
            found = events_by(SUBJECTS[stream], group, chosen, start)
            assert found == dict(counts)
        transaction.set_rollback(True)


@given(st.integers(0, 400), st.integers(1, 90 * 24), st.integers(0, 500))
def test_a_span_is_made_of_few_that_are_over(start: int, hours: int, until: int):
    span = Span(start * HOUR, (start + hours) * HOUR)
    until *= WIDTHS[1]
    parts = [*span.by_width(WIDTHS, until)]
    starts = [
        first + n * HOUR
        for width, part in parts
        for first in range(part.start, part.end, width)
        for n in range(width // HOUR)
    ]
    assert sorted(starts) == [*range(span.start, span.end, HOUR)]
    for width, part in parts:
        assert part.start % width == part.end % width == 0
        assert width == HOUR or part.end <= until
    if until >= span.end:
        assert sum((part.end - part.start) // width for width, part in parts) <= 40


@pytest.mark.parametrize(
    ("hole", "left"),
    [
        (Span(60, 70), [Span(10, 50)]),
        (Span(0, 10), [Span(10, 50)]),
        (Span(20, 30), [Span(10, 20), Span(30, 50)]),
        (Span(40, 60), [Span(10, 40)]),
        (Span(0, 60), []),
    ],
)
def test_a_hole_takes_away_what_lies_in_it_alone(hole: Span, left: list[Span]):
    assert [*Span(10, 50).without([hole])] == left


WHOLE: Final = "start_date=2026-11-10&end_date=2026-11-19T22:59:59.999999Z&bucket=3h"


def test_whole_hours_are_answered_without_the_events():
    with clock.set_to(NOW):
        events = [traffic(rx_bytes=n, window_end=ago(n * 60)) for n in range(99)]
        batches.ingest_events(TRAFFIC, numbered(events))
        rollups.roll_up(least=1)
        queries = [
            f"{WHOLE}&group_by={group}&{more}"
            for group in TRAFFIC_SUBJECT.groups
            for more in ("", "type=TYPE_DROP")
        ]
        before = [answered(TRAFFIC, query) for query in queries]
        execute("DELETE FROM events_trafficevent")
        after = [answered(TRAFFIC, query) for query in queries]
    assert sum(answer["total"] for answer in before) > 0
    # What ends are called is told by their newest events.
    for answer in (*before, *after):
        for group in answer["groups"]:
            del group["name"]
    assert after == before


@pytest.mark.parametrize("hours", [1, 6, 12, 15])
def test_the_points_of_few_whole_hours_are_there_without_the_events(hours: int):
    last = f"{hours - 1:02}:59:59.999999"
    query = f"start_date=2026-11-19&end_date=2026-11-19T{last}&group_by=direction"
    with clock.set_to(NOW):
        events = [traffic(rx_bytes=1, window_end=ago(n * 30)) for n in range(99)]
        batches.ingest_events(TRAFFIC, numbered(events))
        rollups.roll_up(least=1)
        [before] = answered(TRAFFIC, query)["groups"]
        execute("DELETE FROM events_trafficevent")
        [after] = answered(TRAFFIC, query)["groups"]
    assert len(before["series"]) == hours
    assert after["series"] == before["series"]


@pytest.mark.parametrize(
    ("span", "width"),
    [
        ("start_date=-1h", 60),
        ("start_date=-3h", 300),
        ("start_date=-181m", HOUR),
        ("start_date=-15h", HOUR),
        ("", HOUR),
        ("start_date=2026-11-19T10:00&end_date=2026-11-19T13:00", HOUR),
        ("start_date=2026-11-19T10:00&end_date=2026-11-19T12:59:59", 300),
        ("start_date=2026-11-19T10:01&end_date=2026-11-19T10:59:59.999999", 60),
        ("start_date=2026-11-19T10:00&end_date=2026-11-19T10:00", 60),
        ("start_date=-15h&group_by=direction,protocol", 900),
        ("start_date=-15h&search=web", 900),
        ("start_date=-60d", 24 * HOUR),
        ("start_date=-200d", 3 * 24 * HOUR),
        ("start_date=2026-11-19T10:00&end_date=2026-11-19T13:00&bucket=1m", 60),
    ],
)
def test_points_that_nobody_chose_are_fine_where_few_events_must_be_read(
    span: str, width: int
):
    with clock.set_to(NOW):
        assert answered(TRAFFIC, span)["bucket_seconds"] == width


def test_few_new_events_wait_for_more():
    with clock.set_to(NOW):
        batches.ingest_events(TRAFFIC, [traffic(window_end=ago(90))])
        rollups.roll_up()
        assert not TrafficRollUp.objects.exists()
        assert answered(TRAFFIC, "metric=flows")["total"] == 1


def test_late_events_are_in_the_sums_of_spans_that_were_over():
    question = "start_date=2026-11-01&end_date=2026-11-19T23:59:59.999999Z&bucket=7d"
    with clock.set_to(NOW):
        for number in range(3):
            event = traffic(id=str(number), rx_bytes=5, window_end=ago(6 * 1440))
            batches.ingest_events(TRAFFIC, [event])
            rollups.roll_up(least=1)
            wide = TrafficRollUp.objects.filter(family=1, width__gt=HOUR)
            assert [*wide.values_list("rx_bytes", flat=True)] == [5 * number + 5] * 3
            assert answered(TRAFFIC, question)["total"] == 5 * number + 5


def test_a_run_that_ends_halfway_is_as_if_it_never_began():
    with clock.set_to(NOW):
        batches.ingest_events(TRAFFIC, [traffic(rx_bytes=5, window_end=ago(200))])
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            rollups.roll_up(least=1)
            raise ZeroDivisionError
        assert not RollUpMark.objects.exists()
        for _ in range(2):
            rollups.roll_up(least=1)
            assert answered(TRAFFIC, "group_by=user")["total"] == 5


def test_a_stream_that_cannot_be_summed_up_keeps_no_other_from_its_sums():
    execute("ALTER TABLE events_trafficrollup RENAME TO elsewhere")
    summing = {job.name: job.run for job in registered_jobs()}
    with clock.set_to(NOW), pytest.raises(DatabaseError):
        summing["events.roll_ups.traffic"]()
    with clock.set_to(NOW):
        summing["events.roll_ups.proxy"]()
    assert RollUpMark.objects.get(stream="proxy").until > 0


@pytest.mark.postgresql
def test_events_from_before_arrivals_were_counted_are_summed_up_too():
    with clock.set_to(NOW):
        events = [traffic(rx_bytes=5, window_end=ago(n * 600)) for n in range(9)]
        batches.ingest_events(TRAFFIC, numbered(events))
        execute("UPDATE events_trafficevent SET n = NULL WHERE id < '6'")
        question = "start_date=2026-11-01&end_date=2026-11-20&group_by=user"
        assert answered(TRAFFIC, question)["total"] == 45
        rollups.roll_up(least=1)
        assert answered(TRAFFIC, question)["total"] == 45
        assert not RollUpGap.objects.exists()
        hours = TrafficRollUp.objects.filter(family=1, width=HOUR)
        assert sum(found.events for found in hours) == 9


def sums() -> list[Any]:
    fields = ("family", "width", "start", "key", "events", "rx_bytes", "last")
    return list(TrafficRollUp.objects.order_by("pk").values_list(*fields))


def summed_anew() -> list[Any]:
    """Return the sums as they are when all events are added up at once."""
    TrafficRollUp.objects.all().delete()
    RollUpMark.objects.all().delete()
    rollups.roll_up(least=1)
    return sums()


@pytest.mark.django_db(transaction=True)
def test_sums_made_by_two_at_once_while_events_come_in_count_each_once():
    def send(name: str) -> None:
        for number in range(5):
            events = [traffic(id=f"{name}-{number}-{n}", rx_bytes=1) for n in range(20)]
            batches.ingest_events(TRAFFIC, events)

    def sum_up() -> None:
        for _ in range(5):
            rollups.roll_up(least=1)

    senders: list[Callable[[], None]] = [partial(send, "a"), partial(send, "b")]
    race([*senders, sum_up, sum_up])
    rollups.roll_up(least=1)
    found = sums()
    assert found == summed_anew()
    assert sum(row[4] for row in found if row[:2] == (1, 3600)) == 200


@pytest.mark.django_db(transaction=True)
def test_sums_go_with_their_days(monkeypatch: pytest.MonkeyPatch):
    with clock.set_to(NOW):
        events = [traffic(window_end=ago(n * 60)) for n in range(8 * 24)]
        batches.ingest_events(TRAFFIC, numbered(events))
        rollups.roll_up(least=1)
        keep(monkeypatch, traffic=4)
        retention.prune()
        assert not RollUpGap.objects.exists()
        found = sums()
        assert found == summed_anew()
    until = RollUpMark.objects.get(stream=TRAFFIC.name).until
    assert {row[1:3] for row in found} == {
        (width, start)
        for moment in TrafficEvent.objects.values_list("time", flat=True)
        for width in WIDTHS
        if (start := int(moment.timestamp()) // width * width) + width <= until
        or width == HOUR
    }
    assert {row[1] for row in found} == {*WIDTHS}


def test_a_day_goes_in_few_statements_however_many_its_sums(
    django_assert_max_num_queries: Any,
):
    start = day_span(NOW.date()).start
    family = TRAFFIC_SUBJECT.families["source"]
    row: Any = {"family": family, "width": HOUR, "start": start, "events": 1}
    row |= {"first": NOW, "last": NOW, **dict.fromkeys(TRAFFIC_SUBJECT.sums, 0)}
    TrafficRollUp.objects.bulk_create(
        TrafficRollUp(key=str(number), **row) for number in range(1000)
    )
    with django_assert_max_num_queries(12), transaction.atomic():
        rollups.forget(TRAFFIC, NOW.date())
    assert not TrafficRollUp.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_day_that_was_half_dropped_is_summed_up_anew():
    day = date(2026, 11, 19)
    with clock.set_to(NOW):
        batches.ingest_events(TRAFFIC, [traffic(id="a", window_end=ago(1440))])
        detach(1)
        batches.ingest_events(TRAFFIC, [traffic(id="b", window_end=ago(1))])
        rollups.roll_up(least=1)
        batches.ingest_events(TRAFFIC, [traffic(id="c", window_end=ago(1440))])
        question = "start_date=2026-11-19&end_date=2026-11-19&metric=flows"
        assert rollups.gaps(TRAFFIC) == [day]
        assert answered(TRAFFIC, question)["total"] == 2
        rollups.roll_up(least=1)
        assert rollups.gaps(TRAFFIC) == []
        assert answered(TRAFFIC, question)["total"] == 2
        found = sums()
        assert found == summed_anew()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", ["killed", "noted anew"])
def test_a_gap_stays_until_all_its_hours_are_summed_up(
    how: str, monkeypatch: pytest.MonkeyPatch
):
    day, hours = date(2026, 11, 19), []

    def disturb(_: float) -> None:
        hours.append(1)
        if len(hours) == 15:
            if how == "killed":
                raise KeyboardInterrupt
            rollups.leave_gap(TRAFFIC, {day})

    with clock.set_to(NOW):
        events = [traffic(id=f"{n}", window_end=ago(60 * n)) for n in range(12, 40)]
        batches.ingest_events(TRAFFIC, events)
        rollups.roll_up(least=1)
        wanted = sums()
        before = TrafficRollUp.objects.filter(start__lt=day_span(NOW.date()).start)
        before.filter(width=HOUR).update(events=7)
        rollups.leave_gap(TRAFFIC, {day, date(2026, 11, 18)})
        question = "start_date=2026-11-18&end_date=2026-11-19&metric=flows"
        told = answered(TRAFFIC, question, by_events=True)
        with monkeypatch.context() as patched:
            patched.setattr("events.streams.rollups.time.sleep", disturb)
            with suppress(KeyboardInterrupt):
                rollups._fill(TRAFFIC_SUBJECT)
        assert day in rollups.gaps(TRAFFIC)
        assert answered(TRAFFIC, question) == told
        rollups.roll_up(least=1)
        assert rollups.gaps(TRAFFIC) == []
        assert answered(TRAFFIC, question) == told
    assert sums() == wanted


@pytest.mark.django_db(transaction=True)
def test_what_is_summed_up_while_somebody_adds_up_counts_once():
    batches.ingest_events(TRAFFIC, [traffic(rx_bytes=5, window_end=moment(90))])
    summed: list[None] = []

    def overtake(execute: Any, sql: str, *rest: Any) -> Any:
        answer = execute(sql, *rest)
        if RollUpMark._meta.db_table in sql and not summed:
            summed.extend(race([lambda: rollups.roll_up(least=1)]))
        return answer

    with connection.execute_wrapper(overtake):
        assert answered(TRAFFIC, "group_by=direction")["total"] == 5
    assert TrafficRollUp.objects.exists()
