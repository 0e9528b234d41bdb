"""The streams over a coordinator of Citus and its workers; run by `scripts/citus`.

Needs a server with the extension, whose database `postgres` knows the workers, and the
right to make databases on all of them; skipped elsewhere.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management.base import CommandError
from django.db import connection, connections

from events.models import TrafficEvent, TrafficRollUp, TrafficTally
from events.streams import batches, citus, pages, partitions, retention, rollups
from events.streams.catalogue import PROXY, STREAMS, TRAFFIC
from events.streams.citus import Worker
from meshmgmt.backup.archive import BackupError
from meshmgmt.backup.copying import back_up, restore
from meshmgmt.core import clock
from meshmgmt.delivery.feeds import following
from meshmgmt.delivery.models import Subscription
from observability.health import readiness
from tests.databases import elsewhere
from tests.events.commands import run
from tests.events.days import DAY, day
from tests.events.samples import moment, proxy, traffic
from tests.people import api_as
from tests.proof.trails import bare
from tests.races import going_on

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

PATHS = ("/api/events/network-traffic", "/api/events/proxy")
SHARDS = 4


def _nodes() -> list[Worker]:
    """Return the workers that the database `postgres` knows, or skip."""
    with connections["default"]._nodb_cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'citus'")
        if cursor.fetchone() is None:
            pytest.skip("the extension citus is not installed on the database server")
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
        if cursor.fetchone() is None:
            pytest.skip("the database postgres has no citus: run it by scripts/citus")
        cursor.execute(
            "SELECT node_name, node_port FROM citus_get_active_worker_nodes()"
        )
        return [Worker(*row) for row in sorted(cursor.fetchall())]


@contextmanager
def session(worker: Worker) -> Iterator[psycopg.Connection[Any]]:
    """Yield a session in the database `postgres` of a worker."""
    known: dict[str, Any] = connection.get_connection_params()
    secret = {name: known[name] for name in ("user", "password") if known.get(name)}
    where = {"host": worker.name, "port": worker.port, "dbname": "postgres"}
    everything: dict[str, Any] = {**where, **secret}
    with psycopg.connect(**everything, autocommit=True) as made:
        yield made


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Worker]]:
    """Workers of a migrated database, with the extension, that has nothing in it."""
    found = _nodes()
    with ExitStack() as stack:
        stack.enter_context(elsewhere("postgresql", folder=tmp_path, migrated=True))
        name = connection.settings_dict["NAME"]
        with connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION citus")
            known = connection.settings_dict
            cursor.execute(
                "SELECT citus_set_coordinator_host(%s, %s)",
                [known["HOST"], int(known["PORT"] or 5432)],
            )
            for worker in found:
                stack.enter_context(_database(worker, name))
                cursor.execute(
                    "SELECT citus_add_node(%s, %s)", [worker.name, worker.port]
                )
        yield found


@contextmanager
def _database(worker: Worker, name: str) -> Iterator[None]:
    """Make the database on a worker, with the extension in it."""
    with session(worker) as there:
        there.execute(f'CREATE DATABASE "{name}"'.encode())
        with psycopg.connect(**_of(there, name), autocommit=True) as made:
            made.execute("CREATE EXTENSION citus")
        try:
            yield
        finally:
            there.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _of(there: psycopg.Connection[Any], name: str) -> dict[str, Any]:
    secret = {"password": there.info.password} if there.info.password else {}
    info = there.info
    where = {"host": info.host, "port": info.port, "dbname": name, "user": info.user}
    return {**where, **secret}


@contextmanager
def away(worker: Worker) -> Iterator[None]:
    """Let a worker take nobody in, and send away who is there."""
    name = connection.settings_dict["NAME"]
    with session(worker) as there:
        allow = f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS'
        there.execute(f"{allow} false".encode())
        there.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [name],
        )
        try:
            yield
        finally:
            there.execute(f"{allow} true".encode())


def fill() -> None:
    """Store events of three days, some of them an hour apart."""
    for ago in (0, 1, 2):
        batches.ingest_events(
            TRAFFIC,
            [
                traffic(id=f"{ago}-{n}", window_end=moment(ago * DAY + n), rx_bytes=n)
                for n in range(40)
            ],
        )
    batches.ingest_events(
        PROXY,
        [proxy(id=f"p-{n}", timestamp=moment(n), path=f"/path/{n}") for n in range(40)],
    )


QUESTIONS = (
    *(f"{path}?page_size=30&page=2" for path in PATHS),
    f"{PATHS[0]}?search=laptop&page_size=5",
    f"{PATHS[0]}?source_id=peer-1&start_date=-36h&page_size=7",
    f"{PATHS[1]}?sort_by=url&sort_order=asc&page_size=9",
    f"{PATHS[1]}?exact_path=/path/7",
    f"{PATHS[0]}/summary?group_by=source,direction&start_date=-7d&end_date=-1m",
    f"{PATHS[0]}/summary?group_by=protocol&metric=flows&start_date=-7d&end_date=-1m",
    f"{PATHS[1]}/summary?group_by=host&start_date=-7d&end_date=-1m",
)


EXPORTS = tuple(product(PATHS, ("application/x-ndjson", "text/csv")))


def answers() -> list[Any]:
    """Return what the API says to questions of all kinds, at one moment."""
    api = api_as("owner")
    with clock.set_to(clock.now().replace(second=0, microsecond=0)):
        found = [api.get(question) for question in QUESTIONS]
        files = [api.get(path, Accept=kind) for path, kind in EXPORTS]
    assert {answer.status for answer in (*found, *files)} == {200}
    assert all(file.body.count(b"\n") >= 40 for file in files)
    return [*(answer.json for answer in found), *(file.body for file in files)]


def arrivals() -> list[tuple[str, int]]:
    rows = TrafficEvent.objects.order_by("arrival").values_list("id", "arrival")
    return list(rows)


def test_all_answers_are_the_same_spread_and_back(nodes: list[Worker]):
    fill()
    rollups.roll_up(least=1)
    with clock.set_to(clock.now()):
        before, order = answers(), arrivals()
        output, _ = run("distribute_streams", "--shards", str(SHARDS), "--json")
        report = json.loads(output)
        assert report["workers"] == [str(worker) for worker in nodes]
        assert [each["shards"] for each in report["streams"]] == [SHARDS, SHARDS]
        assert [each["rows"] for each in report["streams"]] == [120, 40]
        assert (answers(), arrivals()) == (before, order)
        run("distribute_streams", "--undo")
        assert not any(map(citus.is_spread, STREAMS.values()))
        assert (answers(), arrivals()) == (before, order)
    assert batches.ingest_events(TRAFFIC, [traffic(id="later")]).accepted == 1
    assert arrivals()[-1][0] == "later"


@pytest.fixture
def spread(nodes: list[Worker]) -> list[Worker]:
    """The workers over which both streams are spread; they hold events of three days."""
    fill()
    run("distribute_streams", "--shards", str(SHARDS))
    return nodes


@pytest.mark.usefixtures("spread")
def test_what_is_spread_is_not_spread_again():
    with pytest.raises(CommandError, match=r"spread already .traffic over 4 shards"):
        run("distribute_streams", "--dry-run")


@pytest.mark.usefixtures("nodes")
def test_there_is_nothing_to_undo_at_first():
    with pytest.raises(CommandError, match="nothing to undo"):
        run("distribute_streams", "--undo")


@pytest.mark.usefixtures("spread")
def test_batches_are_numbered_in_their_order_and_stored_once():
    batch = [traffic(id=f"new-{n}", window_end=moment(n * DAY / 4)) for n in range(20)]
    first = batches.ingest_events(TRAFFIC, batch)
    again = batches.ingest_events(TRAFFIC, [*batch, traffic(id="one-more")])
    assert (first.accepted, again.accepted, again.duplicates) == (20, 1, 20)
    assert [name for name, _ in arrivals()][-21:] == [
        *(event["id"] for event in batch),
        "one-more",
    ]
    assert pages.everything(TRAFFIC) == TrafficEvent.objects.count() == 141


@pytest.mark.usefixtures("spread")
def test_sums_are_exact():
    rollups.roll_up(least=1)
    batches.ingest_events(TRAFFIC, [traffic(id="late", window_end=moment(DAY))])
    rollups.roll_up(least=1)
    mark, _ = rollups.reach(TRAFFIC)
    assert not TrafficEvent.objects.filter(arrival__gt=mark).exists()
    by_protocol = TrafficRollUp.objects.filter(family=5, width=86_400)
    assert sum(by_protocol.values_list("events", flat=True)) == 121
    received = sum(TrafficEvent.objects.values_list("rx_bytes", flat=True))
    assert sum(by_protocol.values_list("rx_bytes", flat=True)) == received


@pytest.mark.usefixtures("spread")
def test_deliveries_follow_the_order_of_arrival():
    follower = Subscription(
        stream="network-traffic", cursor=0, filters={}, batch_limit=1000
    )
    sent = following(follower)
    assert [event.id for event in sent.events] == [name for name, _ in arrivals()]
    follower.cursor = sent.after["cursor"]
    batches.ingest_events(TRAFFIC, [traffic(id="next")])
    assert [event.id for event in following(follower).events] == ["next"]


@contextmanager
def in_doubt(worker: Worker) -> Iterator[None]:
    """Leave a transaction on a worker as one whose end it has yet to learn.

    Citus recovers those that have the names it gives itself, this one not.
    """
    name = connection.settings_dict["NAME"]
    with (
        session(worker) as there,
        psycopg.connect(**_of(there, name), autocommit=True) as made,
    ):
        made.execute("BEGIN")
        made.execute("SELECT pg_current_xact_id()")
        made.execute("PREPARE TRANSACTION 'citus_of_a_test'")
        try:
            yield
        finally:
            made.execute("ROLLBACK PREPARED 'citus_of_a_test'")


def test_nothing_new_is_read_while_a_worker_has_yet_to_learn_of_a_commit(
    spread: list[Worker],
):
    follower = Subscription(
        stream="network-traffic", cursor=0, filters={}, batch_limit=1000
    )
    assert not citus.in_doubt()
    with in_doubt(spread[1]):
        assert citus.in_doubt()
        sent = following(follower)
        assert (sent.events, sent.after["cursor"]) == ([], 0)
        rollups.roll_up(least=1)
        assert not TrafficRollUp.objects.exists()
    assert not citus.in_doubt()
    assert len(following(follower).events) == 120
    rollups.roll_up(least=1)
    assert TrafficRollUp.objects.exists()


@pytest.mark.usefixtures("spread")
def test_days_go_while_batches_come_in():
    def ingest(number: int) -> None:
        batches.ingest_events(TRAFFIC, [traffic(id=f"new-{number}")])

    yesterday = day(1)
    with going_on(ingest):
        retention.drop_days(TRAFFIC, yesterday)
    assert min(partitions.attached(TRAFFIC)) >= yesterday
    assert min(TrafficTally.objects.values_list("day", flat=True)) >= yesterday
    assert pages.everything(TRAFFIC) == TrafficEvent.objects.count()


@pytest.mark.usefixtures("spread")
def test_a_day_that_was_only_detached_comes_back_with_its_events():
    partitions._detach_plainly(TRAFFIC, day(2))
    assert partitions.detached(TRAFFIC) == [day(2)]
    batches.ingest_events(TRAFFIC, [traffic(id="late", window_end=moment(2 * DAY))])
    assert partitions.detached(TRAFFIC) == []
    assert pages.everything(TRAFFIC) == TrafficEvent.objects.count() == 121


def test_a_worker_that_is_away_is_named_and_nothing_is_half_stored(
    spread: list[Worker],
):
    api = api_as("owner")
    batch = [traffic(id=f"new-{n}") for n in range(50)]
    with away(spread[0]):
        for _ in range(2):
            answer = api.post(PATHS[0], batch)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert api.get(PATHS[0]).status == 503
        [finding] = [each for each in readiness.findings() if each.name == "streams"]
        assert finding.problem.startswith("1 of 2 database workers away: ")
        assert str(spread[0]) in finding.problem
        assert api.get("/api/groups").status == 200
        assert pages.everything(TRAFFIC) == 120
    assert citus.absence() == ""
    assert api.get(PATHS[0]).json["total_records"] == 120
    assert api.post(PATHS[0], batch).json["accepted"] == 50
    assert pages.everything(TRAFFIC) == TrafficEvent.objects.count() == 170


@pytest.mark.usefixtures("spread")
def test_a_backup_holds_all_and_is_restored_elsewhere(tmp_path: Path):
    file = tmp_path / "mesh.zip"
    rollups.roll_up(least=1)
    manifest = back_up(file, bare)
    assert manifest.tables[TRAFFIC.table].rows == 120
    with pytest.raises(BackupError, match="spread over workers"):
        restore(file, bare, bare)
    with elsewhere("sqlite", folder=tmp_path):
        restore(file, bare, bare)
        assert pages.everything(TRAFFIC) == TrafficEvent.objects.count() == 120
