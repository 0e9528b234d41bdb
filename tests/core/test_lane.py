"""Places for those who wait: who may, for how long, and who has to go at once."""

from contextlib import ExitStack

from meshmgmt.core.lane import Lane


def test_those_with_a_place_may_wait_the_others_not_at_all() -> None:
    lane = Lane(places=2, patience=20)
    with ExitStack() as stack:
        given = [stack.enter_context(lane.place()) for _ in range(3)]
    assert given == [20, 20, 0]


def test_without_a_limit_everybody_may_wait() -> None:
    lane = Lane(patience=20)
    with ExitStack() as stack:
        assert {stack.enter_context(lane.place()) for _ in range(50)} == {20}


def test_others_may_wait_while_the_lane_moves() -> None:
    lane = Lane(places=1, patience=200, grace=100)
    with lane.place():
        lane.moved()
        with lane.place() as patience:
            assert 0 < patience <= 100
    stuck = Lane(places=1, patience=200, grace=0.001)
    with stuck.place():
        stuck.moved()
        while True:
            with stuck.place() as patience:
                if not patience:
                    break


def test_a_place_is_free_again_after_a_failure() -> None:
    lane = Lane(places=1, patience=20)
    for _ in range(3):
        try:
            with lane.place() as patience:
                assert patience == 20
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
