"""Writers that wait for the lock: for how long, and who is sent away."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from functools import partial
from threading import Event

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from meshmgmt.core import transactions
from meshmgmt.core.locks import LOCK_SECONDS, last_taken
from meshmgmt.core.transactions import (
    LOCK_SUFFIX,
    account_write,
    queued_write,
    write_ending,
    writers,
)
from tests.api_client import Answer, Api
from tests.races import lock_held_elsewhere, race
from tests.resource_contract import refusal

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 4


def test_a_lock_that_does_not_move_sends_writers_away(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(writers, "grace", 0.5)

    def call(number: int | None) -> Answer:
        try:
            if number is None:
                return api.get("/api/groups")
            return api.post("/api/groups", {"name": f"group {number}"})
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool, lock_held_elsewhere():
        answers = list(pool.map(call, [*range(2 * THREADS), None]))
    assert answers.pop().status == 200
    for answer in answers:
        assert "other writes" in refusal(answer, 503)
        assert answer.headers["Retry-After"]
    said = [r for r in caplog.records if "the database is busy" in r.getMessage()]
    assert len(said) == len(answers)
    assert not any(record.exc_info for record in caplog.records)
    assert api.post("/api/groups", {"name": "afterwards"}).status == 200


@pytest.mark.slow
def test_ten_writers_wait_for_longer_than_a_grace_while_the_lock_moves(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writers, "grace", 1.0)
    slow = Event()

    def linger(**_: object) -> None:
        slow.wait(0.3)

    def call(number: int) -> int:
        return api.post("/api/groups", {"name": f"group {number}"}).status

    write_ending.connect(linger)
    try:
        assert race([partial(call, number) for number in range(10)]) == [200] * 10
    finally:
        write_ending.disconnect(linger)


def test_a_turn_of_somebody_else_is_seen():
    sign = (
        transactions._holder
        if connection.vendor == "postgresql"
        else partial(last_taken, f"{connection.settings_dict['NAME']}{LOCK_SUFFIX}")
    )
    seen = []
    for _ in range(2):
        with lock_held_elsewhere():
            seen += [sign(), sign()]
    assert seen[0] == seen[1] != seen[2] == seen[3]


def test_nobody_waits_beyond_the_patience(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writers, "patience", 0.05)
    busy = pytest.raises(OperationalError, match=r"busy|lock timeout")
    with lock_held_elsewhere(), busy, account_write():
        pytest.fail("two had the lock")


@pytest.mark.sqlite
@pytest.mark.parametrize("write", [account_write, queued_write])
def test_a_program_outside_is_waited_for_as_long_as_a_writer_inside(
    write: Callable[[], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writers, "patience", 0.05)
    name = connection.settings_dict["NAME"]
    with closing(sqlite3.connect(name, isolation_level=None)) as outside:
        outside.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"), write():
            pytest.fail("two had the lock")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] == 20_000


@pytest.mark.postgresql
def test_a_writer_that_waited_waits_for_rows_as_long_as_others():
    with transactions._advisory_lock(0.5), connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == (f"{LOCK_SECONDS}s",)


@pytest.mark.postgresql
def test_the_lock_of_another_database_of_the_cluster_is_not_ours():
    given = connection.get_connection_params()
    named = ("host", "port", "user", "password")
    facts = {name: given[name] for name in named if name in given}
    with psycopg.connect(**facts, dbname="postgres") as elsewhere:
        elsewhere.execute("SELECT pg_advisory_xact_lock(%s)", [transactions.LOCK_KEY])
        assert transactions._holder() is None
