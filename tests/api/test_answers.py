"""Large answers: one is made at a time, and only its text is kept until it is sent."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any, ClassVar

import pytest
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api import limits, renderers
from meshmgmt.api.renderers import LARGE_BYTES, note_size, room_for
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import Unavailable
from tests.races import held_elsewhere, race

KIND = "a list"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderers, "_sizes", {})
    none = limits.Limits(None, None, limits.LIMITS.guesses)
    monkeypatch.setattr(limits, "LIMITS", none)


class ListView(ApiView):
    """Makes a list of `size` bytes; `together` is passed by two who make one at once."""

    public_methods = ("GET", "POST")
    size: ClassVar[int] = 0
    together: ClassVar[Barrier]

    def get(self, request: Request) -> Response:
        del request
        try:
            self.together.wait()
            company = True
        except BrokenBarrierError:
            company = False
        return Response({"company": company, "list": "x" * self.size})


def read(**headers: str) -> Any:
    return ListView.as_view()(RequestFactory().get("/", headers=headers))


def head() -> Any:
    return ListView.as_view()(RequestFactory().head("/"))


def sized(size: int) -> None:
    """Let readers get a list of this size, each alone."""
    ListView.size, ListView.together = size, Barrier(1)


def company(patience: float, *reads: Callable[[], Any]) -> list[bool]:
    """Return whether two who read the list at once were served at once."""
    ListView.together = Barrier(2, timeout=patience)
    return [b'"company":true' in answer.content for answer in race(reads)]


@pytest.mark.parametrize("other", [read, head])
def test_large_answers_are_made_one_at_a_time_though_one_asks_for_headers_only(
    other: Callable[[], Any],
):
    sized(LARGE_BYTES)
    read()
    assert company(0.2, read, other) == [False, False]


def test_small_answers_are_made_side_by_side():
    sized(100)
    read()
    assert company(60, read, read) == [True, True]


def test_the_first_of_a_kind_counts_as_large():
    sized(0)
    assert company(0.2, read, read) == [False, False]


def test_what_was_rendered_is_kept_as_text_alone():
    sized(10)
    answer = read()
    assert answer.data is None
    assert b'"list":"xxxxxxxxxx"' in answer.content


@pytest.fixture
def occupied() -> Iterator[None]:
    """Have somebody else make a large answer meanwhile."""
    with held_elsewhere(room_for("another list")):
        yield


@pytest.mark.usefixtures("occupied")
def test_waiting_for_room_ends_with_503(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(renderers.readers, "patience", 0.01)
    with pytest.raises(Unavailable), room_for(KIND):
        pytest.fail("there was room for two")
    answer = read()
    assert answer.status_code == 503
    assert answer["Retry-After"]


@pytest.mark.slow
@pytest.mark.usefixtures("occupied")
def test_readers_are_sent_away_when_no_turn_ends(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(renderers.readers, "grace", 0.1)
    sized(10)
    with ThreadPoolExecutor(4) as pool:
        away = list(pool.map(lambda _: read(), range(20)))
    assert {answer.status_code for answer in away} == {503}
    assert all(answer["Retry-After"] for answer in away)


def test_eight_readers_of_a_list_of_four_megabytes_are_served():
    sized(4 * LARGE_BYTES)
    assert {answer.status_code for answer in race([read] * 8)} == {200}


@pytest.mark.usefixtures("occupied")
def test_one_small_answer_does_not_make_a_kind_small():
    note_size(KIND, 2 * LARGE_BYTES)
    note_size(KIND, 10)
    assert renderers._sizes[KIND] > LARGE_BYTES
    for _ in range(50):
        note_size(KIND, 10)
    with room_for(KIND):
        pass


@pytest.mark.usefixtures("occupied")
def test_what_is_no_reading_needs_no_room():
    answer = ListView.as_view()(RequestFactory().options("/"))
    assert answer.status_code == 200
