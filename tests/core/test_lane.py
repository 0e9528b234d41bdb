"""Lanes: who waits for a turn, for how long, and who has to go."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import count

import pytest

from meshmgmt.core import locks
from meshmgmt.core.locks import Lane
from tests.races import held_elsewhere


class Busy(Exception):
    """No turn came."""


@pytest.fixture(autouse=True)
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_SECONDS", 0.01)


def taken(lane: Lane) -> AbstractContextManager[None]:
    """Have another thread hold the turn for the time of a block."""
    return held_elsewhere(lane.turn(Busy()))


def check_busy(lane: Lane, sign: Callable[[], object] = locks.no_sign) -> None:
    with pytest.raises(Busy), lane.turn(Busy(), sign):
        pytest.fail("two had the turn")


@pytest.mark.parametrize(
    "lane",
    [Lane(patience=0.05), Lane(patience=600, grace=0.05), Lane(patience=600, places=1)],
    ids=["beyond the patience", "where nothing moves", "where there is no place"],
)
def test_nobody_waits(lane: Lane):
    with taken(lane):
        check_busy(lane)
    with lane.turn(Busy()) as left:
        assert 0 < left <= lane.patience


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


def test_a_turn_is_free_again_after_a_failure():
    lane = Lane(patience=20, places=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), lane.turn(Busy()):
            raise ZeroDivisionError
