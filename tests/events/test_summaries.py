"""Top groups and time series agree with adding up by hand."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.admin.homecards import course, first_hour
from events.models import AuditEvent, TrafficEvent
from events.streams import batches, rollups
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.subjects import AUDIT_SUBJECT, PROXY_SUBJECT, TRAFFIC_SUBJECT
from meshmgmt.accounts.models import User
from meshmgmt.adminsite import home
from meshmgmt.core import clock
from meshmgmt.core.addresses import host_of
from tests.api_client import Api
from tests.databases import undone
from tests.events.samples import moment, proxy, traffic
from tests.events.test_filters import proxy_pool, traffic_pool
from tests.people import api_of
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

TRAFFIC_PATH = "/api/events/network-traffic/summary"
PROXY_PATH = "/api/events/proxy/summary"
AUDIT_PATH = "/api/events/audit/summary"
SUBJECTS = {
    TRAFFIC_PATH: TRAFFIC_SUBJECT,
    PROXY_PATH: PROXY_SUBJECT,
    AUDIT_PATH: AUDIT_SUBJECT,
}


def values(answer: Any) -> dict[str, int]:
    groups = answer.json["groups"]
    return {" ".join(group["key"].values()): group["value"] for group in groups}


def since(minutes: int) -> str:
    return f"start_date={moment(minutes)}"


def test_bytes_by_source_equal_the_sum_of_the_events(api: Api):
    pool = traffic_pool()
    for number, event in enumerate(pool):
        event |= {"rx_bytes": number, "tx_bytes": 1}
    batches.ingest_events(TRAFFIC, pool)
    expected: Counter[str] = Counter()
    for event in pool:
        source = event["source"]
        key = source["id"] or host_of(source["address"])
        expected[key] += event["rx_bytes"] + 1
    answer = api.get(
        f"{TRAFFIC_PATH}?group_by=source&metric=bytes&{since(9999)}&bucket=1h"
    )
    assert values(answer) == expected
    assert answer.json["total"] == sum(expected.values())
    for group in answer.json["groups"]:
        assert sum(point["value"] for point in group["series"]) == group["value"]


BIGGEST = 2**63 - 1


ABSURD: list[tuple[Stream, str, str, list[dict[str, Any]]]] = [
    (TRAFFIC, TRAFFIC_PATH, "bytes", [{"rx_bytes": BIGGEST, "tx_bytes": 1}]),
    (TRAFFIC, TRAFFIC_PATH, "bytes", [{"rx_bytes": BIGGEST}] * 9),
    (TRAFFIC, TRAFFIC_PATH, "flows", [{"num_of_starts": BIGGEST}] * 2),
    (TRAFFIC, TRAFFIC_PATH, "drops", [{"num_of_drops": BIGGEST}] * 3),
    (PROXY, PROXY_PATH, "bytes", [{"bytes_upload": BIGGEST, "bytes_download": 1}]),
    (PROXY, PROXY_PATH, "bytes", [{"bytes_download": BIGGEST}] * 2),
]
EXACT = [
    [(2**62, 2**62 - 1)],
    [(2**53 + 1, 2**32 - 1)] * 5,
    [(2**32 - 1, 2**31), (1, 2**33)],
    [(BIGGEST - 3, 1), (1, 1)],
]


def numbered(stream: Stream, facts: list[dict[str, Any]]) -> None:
    """Store an event with each of these facts."""
    sample = traffic if stream is TRAFFIC else proxy
    batches.ingest_events(stream, [sample(id=str(n), **f) for n, f in enumerate(facts)])


def test_sums_of_absurd_counters_stay_at_the_biggest_number(api: Api):
    for stream, path, metric, facts in ABSURD:
        with undone():
            numbered(stream, facts)
            answer = api.get(f"{path}?metric={metric}&bucket=1d&{since(9999)}")
        assert (answer.status, answer.json["total"]) == (200, BIGGEST)
        [group] = answer.json["groups"]
        assert (group["value"], group["events"]) == (BIGGEST, len(facts))
        assert [point["value"] for point in group["series"]] == [BIGGEST]


def test_sums_up_to_the_biggest_number_are_exact(api: Api):
    for counters in EXACT:
        with undone():
            numbered(TRAFFIC, [{"rx_bytes": r, "tx_bytes": t} for r, t in counters])
            answer = api.get(f"{TRAFFIC_PATH}?metric=bytes&{since(9999)}")
        assert answer.json["total"] == sum(map(sum, counters))


def test_groups_are_ordered_by_sums_beyond_32_bits(api: Api):
    sizes = {"a": 2**40, "b": 2**40 + 1, "c": 2**33, "d": 2**32 - 1}
    batches.ingest_events(
        TRAFFIC, [traffic(source={"id": key}, rx_bytes=n) for key, n in sizes.items()]
    )
    groups = api.get(f"{TRAFFIC_PATH}?group_by=source&{since(9999)}").json["groups"]
    assert [group["key"]["source"] for group in groups] == ["b", "a", "c", "d"]


def test_the_first_and_last_days_of_the_calendar_can_be_asked_for(api: Api):
    batches.ingest_events(TRAFFIC, [traffic(rx_bytes=1)])
    batches.ingest_events(PROXY, [proxy()])
    questions = {
        "end_date=0001-01-01": False,
        "end_date=0001-01-01T00:00:00Z": False,
        "start_date=9999-12-31": False,
        "start_date=9999-12-31&end_date=0001-01-01": False,
        "start_date=0001-01-01&end_date=0001-01-02": False,
        "end_date=9999-12-31": False,
        "end_date=9999-12-31T23:59:59.999999Z&start_date=9999-12-31": False,
        "start_date=0001-01-01": True,
        "start_date=0001-01-01&end_date=9999-12-31": True,
        "start_date=0001-01-01&end_date=9999-12-31&bucket=999999d": True,
    }
    for path, (query, found) in product(SUBJECTS, questions.items()):
        answer = api.get(f"{path}?{query}")
        assert answer.status == 200, answer.json
        assert bool(answer.json["total"]) == found, (path, query)
        assert sum(values(answer).values()) == answer.json["total"]


def test_points_stand_at_the_start_of_their_bucket(api: Api):
    batches.ingest_events(
        TRAFFIC, [traffic(rx_bytes=7, window_end="2026-11-20T10:07:30Z")]
    )
    query = "bucket=5m&start_date=2026-11-20&end_date=2026-11-20"
    with clock.set_to(datetime(2026, 11, 20, 12, tzinfo=UTC)):
        answer = api.get(f"{TRAFFIC_PATH}?{query}")
    assert answer.json["groups"][0]["series"] == [
        {"time": "2026-11-20T10:05:00Z", "value": 7}
    ]


def test_the_last_instant_of_a_week_is_in_the_bucket_that_ends(api: Api):
    last = datetime(2026, 11, 22, 23, 59, 59, 999999, tzinfo=UTC)
    at = clock.rfc3339(last)
    starts = {"1m": "22T23:59", "1h": "22T23:00", "1d": "22T00:00"}
    with clock.set_to(last + timedelta(days=1)):
        batches.ingest_events(TRAFFIC, [traffic(rx_bytes=7, window_end=at)])
        batches.ingest_events(PROXY, [proxy(timestamp=at)])
        AuditEvent.objects.bulk_create([AuditEvent(timestamp=last)])
        for _ in range(2):  # from the events, then from their sums
            for path, (width, start) in product(SUBJECTS, starts.items()):
                query = f"bucket={width}&start_date=2026-11-22&end_date=2026-11-22"
                [found] = api.get(f"{path}?{query}").json["groups"]
                times = [point["time"] for point in found["series"]]
                assert times == [f"2026-11-{start}:00Z"], path
                following = "start_date=2026-11-23&end_date=2026-11-23"
                assert api.get(f"{path}?{following}").json["total"] == 0
            rollups.roll_up(least=1)


def test_repeated_denials_are_one_row_with_their_count(api: Api):
    denials = [proxy(status_code=401, timestamp=moment(n / 60)) for n in range(150)]
    other = proxy(status_code=403, source_ip="192.0.2.8", host="git.internal")
    batches.ingest_events(PROXY, [*denials, other, proxy()])
    answer = api.get(f"{PROXY_PATH}?group_by=source_ip,host&status=failed")
    refused = {"192.0.2.7 wiki.internal": 150, "192.0.2.8 git.internal": 1}
    assert values(answer) == refused
    told = [answer.json["groups"][0][name] for name in ("events", "first", "last")]
    assert told == [150, denials[-1]["timestamp"], denials[0]["timestamp"]]


@pytest.mark.parametrize("path", SUBJECTS)
def test_every_group_and_metric_adds_up(api: Api, path: str):
    if path == TRAFFIC_PATH:
        batches.ingest_events(TRAFFIC, [e | {"rx_bytes": 5} for e in traffic_pool()])
    if path == PROXY_PATH:
        entries = [e | {"bytes_upload": 5} for e in proxy_pool()[:90]]
        batches.ingest_events(PROXY, entries)
    for group, metric in product(SUBJECTS[path].groups, SUBJECTS[path].metrics):
        query = f"group_by={group}&metric={metric}&{since(9999)}&limit=100"
        answer = api.get(f"{path}?{query}")
        assert answer.status == 200, answer.json
        assert sum(values(answer).values()) == answer.json["total"] > 0, query


def test_the_filters_of_the_stream_apply(api: Api):
    batches.ingest_events(PROXY, [proxy(), proxy(method="POST"), proxy(path="/x")])
    assert api.get(f"{PROXY_PATH}?method=GET&path=/x").json["total"] == 1


def test_names_come_from_the_events(api: Api):
    user = {"id": "u1", "email": "ann@x.y", "name": "Ann"}
    batches.ingest_events(TRAFFIC, [traffic(user=user, rx_bytes=1)])
    answer = api.get(f"{TRAFFIC_PATH}?group_by=user,source")
    assert answer.json["groups"][0]["name"] == "Ann / laptop"


def test_changes_are_counted_by_who_and_what(api: Api):
    AuditEvent.objects.prune()
    for number in range(7):
        AuditEvent(
            activity_code="group.add" if number % 2 else "route.add",
            initiator_id=f"user-{number % 3}",
            initiator_name=f"Ann {number % 3}",
            target_id="thing",
            meta={"name": f"Name {number}"},
        ).save()
    answer = api.get(f"{AUDIT_PATH}?group_by=initiator,activity&limit=100&bucket=1d")
    assert values(answer) == Counter(
        f"user-{n % 3} {'group.add' if n % 2 else 'route.add'}" for n in range(7)
    )
    assert answer.json["total"] == 7
    groups = answer.json["groups"]
    names = {group["key"]["initiator"]: group["name"] for group in groups}
    assert names["user-1"].startswith("Ann 1 / ")
    target = api.get(f"{AUDIT_PATH}?group_by=target&activity_code=route.*").json
    told = [(group["name"], group["value"]) for group in target["groups"]]
    assert told == [("Name 6", 4)]


def test_group_by_may_be_repeated(api: Api):
    repeated = api.get(f"{PROXY_PATH}?group_by=host&group_by=&group_by=path,host")
    assert repeated.json["group_by"] == ["host", "path"]


def test_drops_count_whether_aggregated_or_listed(api: Api):
    listed = [{"type": "TYPE_DROP", "timestamp": moment(6)}] * 2
    batches.ingest_events(TRAFFIC, [traffic(num_of_drops=3), traffic(events=listed)])
    assert api.get(f"{TRAFFIC_PATH}?metric=drops").json["total"] == 5


def test_connections_without_a_status_are_no_failures(api: Api):
    batches.ingest_events(PROXY, [proxy(status_code=0, protocol="tcp")])
    assert api.get(f"{PROXY_PATH}?metric=failures").json["total"] == 0


HOURS = 24


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(minutes=st.lists(st.integers(1, 60 * (HOURS - 1)), min_size=1, max_size=6))
def test_each_hour_of_a_course_holds_what_its_events_hold(
    owner: User, minutes: list[int]
):
    sent = [
        traffic(window_end=moment(ago), rx_bytes=ago, tx_bytes=0) for ago in minutes
    ]
    before = list(TrafficEvent.objects.values_list("pk", flat=True))
    ok(api_of(owner).post("/api/events/network-traffic", sent))
    rows = TrafficEvent.objects.exclude(pk__in=before)
    found = course(
        TRAFFIC_SUBJECT, "bytes", "direction", HOURS, (rows, {"id": "those"})
    )
    wanted = [0] * HOURS
    for row in rows:
        wanted[(row.time - first_hour(HOURS)) // timedelta(hours=1)] += row.rx_bytes
    assert found == wanted
    assert sum(found) == sum(minutes)


@given(st.lists(st.none() | st.integers(0, 10**9), max_size=200))
def test_a_chart_has_a_column_for_each_value(values: list[int | None]):
    path = home.chart(values)
    assert path.count("M") == path.count("z") == sum(1 for value in values if value)
