"""Lanes: who waits for a turn, for how long, and who has to go."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import pytest

from meshmgmt.core import locks
from meshmgmt.core.locks import Lane


class Busy(Exception):
    """No turn came."""


@pytest.fixture(autouse=True)
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_SECONDS", 0.01)


@contextmanager
def taken(lane: Lane) -> Iterator[None]:
    """Have another thread hold the turn for the time of a block."""
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lane.turn(Busy()):
            held.set()
            leave.wait(60)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert held.wait(20)
        try:
            yield
        finally:
            leave.set()
            holding.result(20)


def check_busy(lane: Lane, sign: Callable[[], object] = locks.no_sign) -> None:
    with pytest.raises(Busy), lane.turn(Busy(), sign):
        pytest.fail("two had the turn")


def test_nobody_waits_beyond_the_patience():
    lane = Lane(patience=0.05)
    with taken(lane):
        check_busy(lane)
    with lane.turn(Busy()) as left:
        assert 0 < left <= 0.05


def test_a_lane_that_does_not_move_is_left():
    lane = Lane(patience=600, grace=0.05)
    with taken(lane):
        check_busy(lane)


def test_a_lane_that_moves_is_waited_in_for_longer_than_one_grace():
    lane = Lane(patience=600, grace=1.0)
    done = []

    def work() -> None:
        with lane.turn(Busy()):
            done.append(threading.Event().wait(0.2))

    with ThreadPoolExecutor(16) as pool:  # 16 turns of 0.2 s are three graces
        for future in [pool.submit(work) for _ in range(16)]:
            future.result(60)
    assert len(done) == 16


def test_turns_in_other_processes_move_the_lane():
    lane = Lane(patience=1, grace=0.05)
    numbers = count()
    seen: list[int] = []

    def sign() -> object:
        seen.append(next(numbers))
        return seen[-1]

    with taken(lane):
        check_busy(lane, sign)  # by its patience, not by the grace
    assert len(seen) > 20


def test_more_than_the_places_are_sent_away_at_once():
    lane = Lane(patience=600, places=1)
    with taken(lane):
        check_busy(lane)


def test_a_turn_is_free_again_after_a_failure():
    lane = Lane(patience=20, places=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), lane.turn(Busy()):
            raise ZeroDivisionError
