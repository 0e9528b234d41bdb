"""Streams that workers of Citus hold: what is decided without the extension."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import (
    DatabaseError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from events.models import TrafficEvent
from events.streams import batches, citus, partitions, retention, store
from events.streams.catalogue import PROXY, STREAMS, TRAFFIC
from events.streams.citus import Worker
from events.streams.statements import lock_timeout
from meshmgmt.api.exceptions import describe
from meshmgmt.core.queries import execute, fetched
from observability.health import readiness
from tests.events.backends import failing, second_session
from tests.events.commands import run
from tests.events.days import day, detach, detach_half, store_day, totals
from tests.events.samples import traffic
from tests.races import going_on, race
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
postgresql = pytest.mark.postgresql

WORKERS: Final = [Worker("db2.internal", 5432), Worker("db3.internal", 5433)]
CANNOT: Final = "events can be neither read nor stored"
HELD_SECONDS: Final = 5.0
"""Seen: 0.3; generous, for the machine may be busy. A lock is waited for 20 otherwise.

That an attempt is given less than a second is the database's to hold, and tested below.
"""


def refused(*options: str) -> str:
    with pytest.raises(CommandError) as told:
        run("distribute_streams", *options)
    return str(told.value)


@pytest.mark.sqlite
@pytest.mark.django_db
def test_streams_are_spread_on_postgresql_only():
    for options in ((), ("--dry-run",), ("--undo",)):
        assert refused(*options).endswith("workers of PostgreSQL only, not SQLite")


@pytest.mark.django_db
def test_options_that_make_no_sense_are_refused():
    for number in ("0", "32001"):
        assert refused("--shards", number) == "--shards: must be 1 to 32000"
    both = refused("--shards", "4", "--undo")
    assert both == "--shards and --undo exclude each other"


@pytest.fixture
def without_extension() -> None:
    if citus.is_installed():
        pytest.skip("the extension citus is in this database")


@postgresql
@pytest.mark.usefixtures("without_extension")
def test_the_extension_is_asked_for():
    for options in ((), ("--undo",)):
        assert refused(*options).startswith("the extension citus is not in")


@postgresql
@pytest.mark.usefixtures("without_extension")
def test_a_dry_run_says_what_there_is_and_what_is_in_the_way(
    capsys: pytest.CaptureFixture[str],
):
    for ago in (0, 3):
        store_day(ago)
    with pytest.raises(CommandError) as told:
        call_command("distribute_streams", "--dry-run", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report["obstacle"] == str(told.value)
    assert report["workers"] == []
    found = {each.pop("stream"): each for each in report["streams"]}
    assert found["traffic"].pop("size") > 0
    assert found["traffic"] == {
        "table": TRAFFIC.table,
        "rows": 6,
        "days": len(partitions.attached(TRAFFIC)),
        "shards": 0,
    }
    assert found["proxy"]["rows"] == 0
    assert totals() == (6, 6)


@postgresql
@pytest.mark.parametrize("interrupted", [detach, detach_half])
def test_days_half_dropped_are_brought_back_before_the_streams_move(
    interrupted: Callable[[int], None],
):
    store_day(9)
    interrupted(9)
    partitions.bring_back(TRAFFIC)
    assert partitions.attached(TRAFFIC)[day(9)] is False
    assert totals() == (3, 3)


def test_nothing_is_in_the_way_of_readers_of_streams_that_are_not_spread():
    assert [citus.settled(stream) for stream in STREAMS.values()] == [Q(), Q()]
    [finding] = [each for each in readiness.findings() if each.name == "streams"]
    assert (finding.problem, finding.required) == ("", False)


@pytest.mark.parametrize(
    ("away", "told"),
    [
        ([], ""),
        (WORKERS[1:], "1 of 2 database workers away: db3.internal:5433; "),
        (
            WORKERS,
            "2 of 2 database workers away: db2.internal:5432, db3.internal:5433; ",
        ),
    ],
)
def test_workers_that_are_away_are_named(away: list[Worker], told: str):
    assert citus.told_away(WORKERS, away) == (told + CANNOT if away else "")


def raised_by_the_database(message: str, code: str) -> DatabaseError:
    """Return what Django raises when PostgreSQL says this with this code."""
    with (
        pytest.raises(DatabaseError) as error,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            f"DO $$ BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = '{code}'; END $$"
        )
    return error.value


@postgresql
@pytest.mark.parametrize(
    ("message", "code", "status"),
    [
        # As in the regression tests of Citus; codes as its sources give them.
        ("connection to the remote node db2:5432 failed", "08006", 503),
        ("could not establish any connections to the node db2:5432", "08006", 503),
        ("failed to complete COPY on db2:5432", "58030", 503),
        ("failed to COPY to shard 102008 on db2:5432", "58030", 503),
        ("connection not open", "XX000", 503),
        ("terminating connection due to administrator command", "XX000", 503),
        ("terminating connection due to administrator command", "57P01", 503),
        ("the database system is shutting down", "57P03", 503),
        ("cache lookup failed for relation 5", "XX000", 500),
    ],
)
def test_a_lost_worker_is_answered_503(message: str, code: str, status: int):
    answer = describe(raised_by_the_database(message, code))
    assert answer[0] == status
    assert "db2" not in answer[1]


@postgresql
@pytest.mark.parametrize(
    ("message", "code", "missing"),
    [
        ("no partition of relation x_102008 found for row", "23514", True),
        ("no partition of relation x_102008 found for row", "XX000", True),
        ("connection not open", "XX000", False),
        ("null value in column", "23502", False),
    ],
)
def test_a_missing_day_is_recognised_by_its_code_or_its_words(
    message: str, code: str, missing: bool
):
    assert partitions.is_missing(raised_by_the_database(message, code)) is missing


@postgresql
def test_a_batch_that_fails_by_an_internal_error_is_not_tried_again():
    table = TRAFFIC.tally_model._meta.db_table
    with (
        failing("INSERT", table, "connection not open", code="XX000"),
        pytest.raises(InternalError, match="connection not open"),
    ):
        batches.ingest_events(TRAFFIC, [traffic()])
    assert totals() == (0, 0)


@postgresql
def test_no_batch_is_under_way_while_ingest_is_held():
    with citus.ingest_held(), second_session() as other:
        for stream in STREAMS.values():
            free = other.execute(
                "SELECT pg_try_advisory_xact_lock(%s)", [stream.lock_key]
            ).fetchone()
            assert free == (False,), stream.name
        number = citus.last_arrival(TRAFFIC)
    assert batches.ingest_events(TRAFFIC, [traffic()]).accepted == 1
    assert TrafficEvent.objects.get().arrival == number + 1
    assert store.store(PROXY, [], untimed=frozenset()).accepted == 0


@postgresql
def test_ingest_that_cannot_be_held_whole_is_not_held_at_all():
    first, second = (stream.lock_key for stream in STREAMS.values())
    with second_session() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [second])
        with pytest.raises(OperationalError), lock_timeout("50ms"), citus.ingest_held():
            pytest.fail("it was held")
        free = other.execute("SELECT pg_try_advisory_lock(%s)", [first]).fetchone()
    assert free == (True,)


@postgresql
@pytest.mark.parametrize("left", [detach, lambda ago: None])
def test_a_day_goes_by_a_plain_detach(
    left: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(citus, "is_spread", lambda stream: True)
    for ago in (0, 9):
        store_day(ago)
    left(9)
    partitions.drop(TRAFFIC, [day(9)])
    assert totals() == (3, 3)
    assert partitions.detached(TRAFFIC) == []
    assert day(9) not in partitions.attached(TRAFFIC)


@postgresql
def test_a_plain_detach_waits_in_short_moments_and_ingest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(citus, "is_spread", lambda stream: True)
    for ago in (0, 9):
        store_day(ago)
    took: list[float] = []

    def ingest(number: int) -> None:
        began = time.perf_counter()
        batches.ingest_events(TRAFFIC, [traffic(id=f"new-{number}")])
        took.append(time.perf_counter() - began)

    def drop() -> None:
        partitions.drop(TRAFFIC, [day(9)])

    held = float(partitions.PLAIN_LOCK_TIMEOUT[:-2]) / 2000
    with ThreadPoolExecutor(1) as pool, second_session() as reader, going_on(ingest):
        reader.execute("SELECT 1 FROM events_trafficevent LIMIT 1")
        dropped = pool.submit(race, [drop])
        until(lambda: took and max(took) > held, "a batch that an attempt held up")
        assert day(9) in partitions.attached(TRAFFIC)
        reader.rollback()
        dropped.result()
    assert day(9) not in partitions.attached(TRAFFIC)
    assert max(took) < HELD_SECONDS


@pytest.fixture
def slow_detach() -> Iterator[None]:
    """Let a DETACH take long, with its locks held, as slow workers would."""
    execute(
        "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(2); END $$"
    )
    execute(
        "CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('ALTER TABLE')"
        " EXECUTE FUNCTION slow()"
    )
    yield
    execute("DROP EVENT TRIGGER slow")
    execute("DROP FUNCTION slow")


@postgresql
def test_a_plain_detach_has_less_than_a_second_for_waits_and_work(
    request: pytest.FixtureRequest,
):
    for ago in (0, 9):
        store_day(ago)
    request.getfixturevalue("slow_detach")
    began = time.perf_counter()
    with pytest.raises(OperationalError, match="statement timeout"):
        partitions._detach_plainly(TRAFFIC, day(9))
    assert time.perf_counter() - began < HELD_SECONDS
    assert int(partitions.PLAIN_TIMEOUT.removesuffix("ms")) < 1000
    assert day(9) in partitions.attached(TRAFFIC)
    assert batches.ingest_events(TRAFFIC, [traffic(id="new")]).accepted == 1


@postgresql
def test_a_day_that_takes_long_to_detach_goes_at_the_last_attempt(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(citus, "is_spread", lambda stream: True)
    monkeypatch.setattr(partitions, "ATTEMPTS", 1)
    for ago in (0, 9):
        store_day(ago)
    request.getfixturevalue("slow_detach")
    partitions.drop(TRAFFIC, [day(9)])
    assert day(9) not in partitions.attached(TRAFFIC)
    assert totals() == (3, 3)


IN_DOUBT: Final = {
    "(true, '0'), (true, '0')": False,
    "(true, '0'), (true, '1')": True,
    "(true, '0'), (false, 'could not connect')": True,
}


@postgresql
@pytest.mark.usefixtures("without_extension")
@pytest.mark.parametrize(("told", "doubt"), IN_DOUBT.items())
def test_commits_are_in_doubt_unless_all_workers_say_they_are_not(
    told: str, doubt: bool
):
    assert fetched(citus._IN_DOUBT) == [(0,)]  # what each worker is asked
    execute(
        "CREATE FUNCTION run_command_on_workers(text, OUT success bool, OUT result text)"
        f" RETURNS SETOF record LANGUAGE sql AS $$ VALUES {told} $$"
    )
    try:
        assert citus.in_doubt() is doubt
    finally:
        execute("DROP FUNCTION run_command_on_workers")


@postgresql
def test_retention_detaches_concurrently_where_nothing_is_spread():
    store_day(9)
    with CaptureQueriesContext(connection) as asked:
        retention.drop_days(TRAFFIC, day(4))
    detached = [each["sql"] for each in asked if "DETACH" in each["sql"]]
    assert detached  # days that other tests left go, too
    assert all(each.endswith(("CONCURRENTLY", "FINALIZE")) for each in detached)
    assert totals() == (0, 0)
