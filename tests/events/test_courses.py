"""How much of something there was in each of the last hours."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.admin.homecards import course, first_hour
from events.models import TrafficEvent
from events.streams.subjects import TRAFFIC_SUBJECT
from meshmgmt.accounts.models import User
from meshmgmt.adminsite import home
from tests.events.samples import moment, traffic
from tests.people import api_of

pytestmark = pytest.mark.django_db

HOURS = 24


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(minutes=st.lists(st.integers(1, 60 * (HOURS - 1)), min_size=1, max_size=6))
def test_each_hour_holds_what_its_events_hold(owner: User, minutes: list[int]):
    sent = [
        traffic(window_end=moment(ago), rx_bytes=ago, tx_bytes=0) for ago in minutes
    ]
    before = list(TrafficEvent.objects.values_list("pk", flat=True))
    answer = api_of(owner).post("/api/events/network-traffic", sent)
    assert answer.status < 300, answer.json
    rows = TrafficEvent.objects.exclude(pk__in=before)
    new = (rows, {"id": "those"})
    found = course(TRAFFIC_SUBJECT, "bytes", "direction", HOURS, new)
    wanted = [0] * HOURS
    for row in rows:
        wanted[(row.time - first_hour(HOURS)) // timedelta(hours=1)] += row.rx_bytes
    assert found == wanted
    assert sum(found) == sum(minutes)


@given(st.lists(st.none() | st.integers(0, 10**9), max_size=200))
def test_a_chart_has_a_column_for_each_value(values: list[int | None]):
    path = home.chart(values)
    assert path.count("M") == sum(1 for value in values if value)
    assert path.count("z") == path.count("M")
