"""Large answers: one is made at a time, and only its text is kept until it is sent."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError, Event, Thread
from typing import Any, ClassVar

import pytest
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api import limits, renderers
from meshmgmt.api.renderers import LARGE_BYTES, note_size, room_for
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import Unavailable
from tests.races import race

KIND = "a list"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderers, "_sizes", {})
    monkeypatch.setattr(
        limits, "LIMITS", limits.Limits(None, None, limits.LIMITS.guesses)
    )


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


def company(size: int, patience: float) -> list[bool]:
    """Return whether two who read a list at once were served at once."""
    ListView.size = size
    ListView.together = Barrier(1)
    read()
    ListView.together = Barrier(2, timeout=patience)
    return [b'"company":true' in answer.content for answer in race([read, read])]


def test_large_answers_are_made_one_at_a_time():
    assert company(LARGE_BYTES, patience=0.2) == [False, False]


def test_a_large_answer_is_made_alone_though_only_its_headers_are_asked_for():
    ListView.size = LARGE_BYTES
    ListView.together = Barrier(1)
    read()
    ListView.together = Barrier(2, timeout=0.2)

    def head() -> Any:
        return ListView.as_view()(RequestFactory().head("/"))

    found = race([read, head])
    assert not any(b'"company":true' in answer.content for answer in found)


def test_small_answers_are_made_side_by_side():
    assert company(100, patience=60) == [True, True]


def test_the_first_of_a_kind_counts_as_large():
    ListView.size = 0
    ListView.together = Barrier(2, timeout=0.2)
    assert not any(b'"company":true' in answer.content for answer in race([read, read]))


def test_what_was_rendered_is_kept_as_text_alone():
    ListView.size, ListView.together = 10, Barrier(1)
    answer = read()
    assert answer.data is None
    assert b'"list":"xxxxxxxxxx"' in answer.content


@pytest.fixture
def occupied() -> Iterator[Event]:
    """Have somebody else make a large answer until the event is set."""
    inside, leave = Event(), Event()

    def make() -> None:
        with room_for("another list"):
            inside.set()
            leave.wait(60)

    thread = Thread(target=make)
    thread.start()
    try:
        assert inside.wait(60)
        yield leave
    finally:
        leave.set()
        thread.join()


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
    ListView.size, ListView.together = 10, Barrier(1)
    with ThreadPoolExecutor(4) as pool:
        away = list(pool.map(lambda _: read(), range(20)))
    assert {answer.status_code for answer in away} == {503}
    assert all(answer["Retry-After"] for answer in away)


def test_eight_readers_of_a_list_of_four_megabytes_are_served():
    ListView.size, ListView.together = 4 * LARGE_BYTES, Barrier(1)
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
