"""The sliding window: never too many, never too few, and waits that are true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.core.slidingwindow import PERIODS, Limit, grant

LIMITS = st.builds(
    Limit, st.integers(min_value=1, max_value=50), st.sampled_from([1, 60, 3600])
)
# Pauses as parts of the window, and permits asked for.
STEPS = st.lists(
    st.tuples(
        st.floats(min_value=0, max_value=1.5), st.integers(min_value=1, max_value=9)
    ),
    max_size=60,
)


@given(LIMITS, STEPS)
def test_no_stretch_of_the_window_sees_more_than_the_limit(
    limit: Limit, steps: list[tuple[float, int]]
):
    now = 1e9
    used: dict[str, int] = {}
    given_at: list[float] = []
    for pause, wanted in steps:
        now += pause * limit.seconds
        answer = grant(limit, used, now=now, wanted=wanted)
        used = answer.used
        given_at += [now] * answer.permits
        # Seconds around 1e9 are told apart to a ten-millionth.
        begun = now - limit.seconds + 1e-5
        assert sum(each > begun for each in given_at) <= limit.count
        assert len(used) <= PERIODS + 1


@given(LIMITS, STEPS)
def test_a_refusal_means_that_all_were_given_of_late_and_its_wait_is_enough(
    limit: Limit, steps: list[tuple[float, int]]
):
    now = 1e9
    used: dict[str, int] = {}
    given_at: list[float] = []
    for pause, wanted in steps:
        now += pause * limit.seconds
        answer = grant(limit, used, now=now, wanted=wanted)
        used = answer.used
        assert (answer.permits == 0) == (answer.wait > 0)
        if not answer.permits:
            # More where one was given late in its period: memory is longer than the window.
            begun = now - limit.memory - 1e-5
            assert sum(each > begun for each in given_at) >= limit.count
            assert answer.wait <= limit.memory + 1e-5
            later = now + answer.wait + 1e-5
            assert grant(limit, used, now=later, wanted=1).permits == 1
        given_at += [now] * answer.permits


def test_what_was_used_before_anybody_could_be_asked_counts():
    limit = Limit(10, 60)
    assert grant(limit, {}, now=1e9, wanted=10, owed=4).permits == 6
    late = grant(limit, {}, now=1e9, wanted=10, owed=14)
    assert late.permits == 0
    assert sum(late.used.values()) == 14


@pytest.mark.parametrize("seconds", [1, 60, 3600])
def test_clocks_that_differ_give_nothing_away(seconds: int):
    limit = Limit(10, seconds)
    ahead = grant(limit, {}, now=1e9 + 59, wanted=10)
    there = grant(limit, ahead.used, now=1e9, wanted=1)
    assert there.permits == 0
    assert there.used == ahead.used


@given(LIMITS, st.floats(min_value=0, max_value=1e8))
def test_nobody_waits_long_for_a_clock_that_was_set_back(limit: Limit, back: float):
    ahead = grant(limit, {}, now=1e9, wanted=limit.count)
    now = 1e9 - back
    wait = grant(limit, ahead.used, now=now, wanted=1).wait
    assert wait <= limit.longest_wait
    assert grant(limit, ahead.used, now=now + wait + 1e-5, wanted=1).permits == 1
