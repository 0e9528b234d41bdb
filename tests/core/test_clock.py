"""The clock and the one form of time stamps."""

import datetime as dt

from meshmgmt.core import clock


def test_rfc3339_is_in_utc_and_leaves_out_microseconds_of_zero():
    zone = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=zone)
    assert clock.rfc3339(moment) == "2026-01-02T01:04:05Z"
    moment = moment.replace(microsecond=120)
    assert clock.rfc3339(moment) == "2026-01-02T01:04:05.000120Z"


def test_shifted_clock_runs_on_from_the_given_moment_and_comes_back():
    past = dt.datetime(2020, 5, 1, tzinfo=dt.UTC)
    with clock.set_to(past):
        assert past <= clock.now() < past + dt.timedelta(seconds=5)
    assert clock.now().year >= 2026
