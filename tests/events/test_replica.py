"""Long reads go to a replica that has everything, and to the primary otherwise."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from events.proof import heads
from groups.services import group_create
from meshmgmt.core import replica
from meshmgmt.core.queries import execute
from meshmgmt.core.replica import REPLICA, reading_replica
from tests.events.samples import TRAFFIC_PATH as PATH
from tests.events.samples import moment, traffic
from tests.people import api_as
from tests.postgresql import POSTGRESQL, Cluster
from tests.servers import free_port

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.django_db(transaction=True, databases=["default", REPLICA]),
    pytest.mark.usefixtures("with_replica"),
    pytest.mark.skipif(
        "PYTEST_XDIST_WORKER" in os.environ,
        reason="the replica replays what tests beside write: see `make test-slow`",
    ),
]


@pytest.fixture(scope="module")
def standby(django_db_setup: None) -> Iterator[int]:
    """Yield the port of a streaming replica of the suite's server; the process knows it."""
    if not list(POSTGRESQL.glob("*/bin/pg_basebackup")):
        pytest.skip("PostgreSQL's server programs are not installed")
    primary = connections.settings["default"]
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="standby-")))
    data = str(cluster.folder / "data")
    if os.geteuid() == 0:
        shutil.chown(cluster.folder, "postgres")
    where = ("-h", primary["HOST"], "-p", str(primary["PORT"]), "-U", primary["USER"])
    cluster.run("pg_basebackup", "-D", data, "-R", "-X", "stream", "-c", "fast", *where)
    options = f"-p {cluster.port} -c listen_addresses=127.0.0.1 -k {cluster.folder}"
    # As many connections as the primary, or it does not start.
    options += " -c fsync=off -c max_connections=200"
    log = ("-l", str(cluster.folder / "log"))
    cluster.run("pg_ctl", "-D", data, "-w", "-o", options, *log, "start")
    known: Any = connections.settings
    tests = {**known["default"]["TEST"], "MIRROR": "default"}  # nobody empties it
    known[REPLICA] = {**known["default"], "PORT": cluster.port, "TEST": tests}
    try:
        yield cluster.port
    finally:
        del known[REPLICA]
        cluster.stop()
        shutil.rmtree(cluster.folder)


@pytest.fixture
def with_replica(standby: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rely on the replica, however slow the machine is."""
    monkeypatch.setattr(replica, "_rest_until", 0.0)
    monkeypatch.setattr(replica, "PATIENCE", 60.0)
    # The throwaway server of the tests has it off.
    execute("SET synchronous_commit = on")
    yield
    connections[REPLICA].close()
    del connections[REPLICA]


def is_replica() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        return bool(cursor.fetchone()[0])


def replay(verb: str) -> None:
    """Let the replica stand still ("pause") or go on ("resume")."""
    with connections[REPLICA].cursor() as cursor:
        cursor.execute(f"SELECT pg_wal_replay_{verb}()")


@pytest.mark.parametrize("path", [PATH, f"{PATH}/summary"])
def test_whoever_wrote_reads_it_from_the_replica(path: str):
    api = api_as("owner")
    for number in range(1, 6):
        event = traffic(id=f"event-{number}", window_end=moment())
        assert api.post(PATH, [event]).status == 200
        with CaptureQueriesContext(connections[REPLICA]) as asked:
            answer = api.get(path).json
        assert any("events_traffic" in query["sql"] for query in asked)
        if path == PATH:
            assert answer["total_records"] == number
    assert not is_replica()


def test_what_is_short_is_read_from_the_primary():
    with CaptureQueriesContext(connections[REPLICA]) as asked:
        assert api_as("owner").get("/api/groups").status == 200
    assert not asked.captured_queries


def test_a_replica_that_is_behind_is_not_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replica, "PATIENCE", 0.0)
    replay("pause")
    try:
        execute("SELECT pg_logical_emit_message(true, 'test', 'more')")
        with reading_replica():
            assert not is_replica()
    finally:
        replay("resume")


def test_a_replica_that_is_away_is_not_read(monkeypatch: pytest.MonkeyPatch):
    away = {**connections.settings[REPLICA], "PORT": free_port()}
    monkeypatch.setitem(connections.settings, REPLICA, away)
    assert api_as("owner").get(PATH).status == 200


def test_an_export_is_read_from_the_replica_to_its_end():
    owner = api_as("owner")
    headers = {"Authorization": f"Token {owner.token}", "Accept": "text/csv"}
    answer: Any = owner.client.get("/api/events/audit", headers=headers)
    parts = iter(answer.streaming_content)
    next(parts)
    assert is_replica()
    answer.close()
    assert not is_replica()


def test_an_export_from_the_replica_has_all_that_its_tree_head_covers():
    owner = api_as("owner")
    heads.keep_up()
    for number in range(1, 6):
        group_create(name=f"group {number}")
        with CaptureQueriesContext(connections[REPLICA]) as asked:
            answer = owner.get("/api/events/audit", Accept="application/x-ndjson")
        assert any("events_auditevent" in query["sql"] for query in asked)
        head = json.loads(answer.headers["Audit-Tree-Head"])
        assert head["tree_size"] == len(answer.body.splitlines())
