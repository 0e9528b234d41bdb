"""Lengths of time in words, the clock, and the one form of time stamps."""

import datetime as dt

import pytest

from meshmgmt.core import clock
from meshmgmt.core.durations import total, words


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


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90 days", 90 * 86400),
        ("24 h", 86400),
        ("1 day 12 hours", 36 * 3600),
        ("1h30m", 5400),
        ("2 weeks", 14 * 86400),
        ("5 min", 300),
        ("90 seconds", 90),
    ],
)
def test_lengths_are_read_as_people_write_them(text: str, seconds: int):
    assert total(text) == seconds
    assert total(words(seconds)) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "5", "5 parsecs", "1h 1h", "-1 h", "1.5 h"]
)
def test_other_texts_are_refused_by_name(text: str):
    with pytest.raises(ValueError, match="no length of time such as 90 days"):
        total(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (7_776_000, "90 days"),
        (86400, "24 h"),
        (129_600, "36 h"),
        (300, "5 min"),
        (90, "90 s"),
        (0, "0 s"),
    ],
)
def test_lengths_are_written_in_their_largest_unit(seconds: int, text: str):
    assert words(seconds) == text
