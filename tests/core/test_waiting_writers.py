"""Writers that wait for the lock: how many threads they take, and what the others get."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from itertools import islice

import pytest
from django.db import OperationalError, connection, connections

from meshmgmt.core.transactions import account_write, queued_write, writers
from tests.api_client import Answer, Api
from tests.people import api_as
from tests.races import lock_held_elsewhere

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 4


@pytest.fixture(autouse=True)
def half_of_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "places", THREADS // 2)
    monkeypatch.setattr(writers, "grace", 0.0)


def test_liveness_and_reads_are_answered_while_writers_wait(api: Api) -> None:

    def call(number: int | None) -> Answer:
        try:
            if number is None:
                assert api.get("/api/groups").status == 200
                return api.get("/livez")
            return api.post("/api/groups", {"name": f"group {number}"})
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        with lock_held_elsewhere():
            waiting = [pool.submit(call, number) for number in range(4 * THREADS)]
            assert pool.submit(call, None).result(timeout=60).status == 200
            # The one who holds the lock has a place too.
            kept = THREADS // 2 - 1
            for _ in islice(as_completed(waiting), len(waiting) - kept):
                pass
        answers = [future.result(timeout=60) for future in waiting]
    assert [answer.status for answer in answers].count(200) == kept
    for answer in answers:
        if answer.status != 200:
            assert answer.status == 503
            assert answer.headers["Retry-After"]
            assert "other writes" in answer.json["message"]
    assert api.post("/api/groups", {"name": "afterwards"}).status == 200


def test_writers_come_in_turn_while_the_lock_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writers, "grace", 60.0)
    api = api_as("owner")

    def call(number: int) -> int:
        try:
            return api.post("/api/groups", {"name": f"group {number}"}).status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4 * THREADS) as pool:
        assert set(pool.map(call, range(8 * THREADS))) == {200}


def test_nobody_waits_beyond_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "patience", 0.05)
    with (
        lock_held_elsewhere(),
        pytest.raises(OperationalError, match=r"busy|lock timeout"),
        account_write(),
    ):
        pytest.fail("two had the lock")


@pytest.mark.sqlite
@pytest.mark.parametrize("write", [account_write, queued_write])
def test_a_program_outside_is_waited_for_as_long_as_a_writer_inside(
    write: Callable[[], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "patience", 0.05)
    outside = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    try:
        outside.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"), write():
            pytest.fail("two had the lock")
    finally:
        outside.close()
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] == 20_000
