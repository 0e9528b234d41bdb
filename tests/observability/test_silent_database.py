"""A database that stops answering: who waits for it, and for how long."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.db import OperationalError, connection

from meshmgmt.api.exceptions import describe
from observability.database.postgresql.base import Silence, _silences
from observability.metrics.readers import AT_ONCE, Readers
from observability.metrics.readers import PATIENCE_SECONDS as READERS_SECONDS
from tests.programs import ran
from tests.runfolder import clean_environ
from tests.servers import migrated_database


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    yield clock
    monkeypatch.undo()


def test_while_it_is_silent_one_at_a_time_tries(clock: SimpleNamespace):
    silence = Silence()
    silence.check()
    silence.begin()
    for _ in range(3):
        with pytest.raises(psycopg.OperationalError, match="does not answer"):
            silence.check()
    clock.now += 1.1
    silence.check()
    with pytest.raises(psycopg.OperationalError):
        silence.check()
    silence.end()
    silence.check()
    silence.check()


def let_in() -> bool:
    return True


def away() -> bool:
    raise OperationalError("gone")


@pytest.mark.parametrize("hangs", [True, False])
def test_who_was_let_in_reads_figures_while_the_database_is_silent(hangs: bool):
    over = threading.Event()
    ask = (lambda: over.wait(60)) if hangs else away
    readers = Readers(probe=ask)
    assert readers.allows("Token known", let_in)
    try:
        begun = time.monotonic()
        assert readers.allows("Token known", ask)
        for _ in range(2):  # the next ones do not wait for the first
            with pytest.raises(OperationalError):
                readers.allows("Token other", ask)
        assert time.monotonic() - begun < 3 * READERS_SECONDS + 1
    finally:
        over.set()


@pytest.mark.django_db(transaction=True)
def test_a_slow_provider_is_no_silent_database():
    readers, over = Readers(), threading.Event()
    assert readers.allows("Token known", let_in)
    try:
        for _ in range(AT_ONCE):  # one slow answer holds up nobody else
            assert readers.allows("Token other", let_in)
            with pytest.raises(OperationalError, match="others are being let in"):
                readers.allows("Bearer slow", lambda: over.wait(60))
        with pytest.raises(OperationalError, match="others are being let in"):
            readers.allows("Token known", let_in)
    finally:
        over.set()


def test_a_token_that_lost_its_permission_reads_no_figures_later_on():
    readers = Readers()
    assert readers.allows("Token known", let_in)
    assert not readers.allows("Token known", lambda: False)
    with pytest.raises(OperationalError):
        readers.allows("Token known", away)


JOB = """
import sys
from meshmgmt.serving import process
from django.conf import settings
process.begin(settings.SVC)
from django.core.management import call_command
from django.db import connection
from meshmgmt.core import jobs
jobs._jobs.clear()
def look():
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        print(cursor.fetchone()[0], connection.connection.patience)
jobs.register_job("look", 60, look)
call_command("housekeeping", "--once")
"""


@pytest.mark.postgresql
def test_a_job_waits_for_no_statement_without_end(tmp_path: Path):
    with migrated_database(tmp_path) as url:
        environ = clean_environ() | {
            "SVC_DATA_DIR": str(tmp_path),
            "SVC_DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "meshmgmt.settings",
        }
        done = ran(sys.executable, "-c", JOB, env=environ, check=True)
    assert done.stdout == "5min 305.0\n"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_statement_without_an_answer_ends_on_our_side():
    connection.ensure_connection()
    connection.connection.patience = 0.3
    with connection.cursor() as cursor, pytest.raises(OperationalError) as caught:
        cursor.execute("SELECT pg_sleep(2)")
    assert "the database does not answer" in str(caught.value)
    assert describe(caught.value)[0] == 503
    assert not connection.is_usable()
    connection.close()
    with pytest.raises(OperationalError, match="does not answer"):
        connection.ensure_connection()
    _silences[connection.alias].end()
    connection.ensure_connection()
