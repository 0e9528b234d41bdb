"""A database of an earlier version comes to the newest schema with all that is in it."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import Migration, RunPython
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from groups.models import Group
from groups.services import group_create
from meshmgmt.backup import schema
from meshmgmt.core.ids import new_id
from meshmgmt.core.locks import open_locked
from meshmgmt.core.migrating import Executor
from meshmgmt.core.queries import fetched
from meshmgmt.serving.management.commands import migrate
from tests.api_client import Api
from tests.backup.files import OLD, SCHEMAS, TOKEN, manifest, rows, run
from tests.databases import KIND, Elsewhere
from tests.people import person, token_of
from tests.servers import Server, own_database

NAMED = {
    "/api/groups": "groups_group",
    "/api/peers": "inventory_peer",
    "/api/users": "accounts_user",
    "/api/dns/zones": "dns_zone",
    "/api/dns/nameservers": "dns_nameservergroup",
    "/api/policies": "access_policy",
    "/api/networks": "inventory_network",
    "/api/setup-keys": "access_setupkey",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "old", sorted(SCHEMAS.glob("*.zip")), ids=lambda path: path.stem
)
def test_rows_and_answers_survive_the_migrations(beside: Elsewhere, old: Path):
    with beside(KIND):
        report = run("restore", old)
        assert report["restored"]
        assert schema.is_at(schema.newest())
        api = Api(TOKEN)
        for path, table in NAMED.items():
            answer = api.get(path)
            assert answer.status == 200, answer.json
            wanted = [row["name"] for row in rows(old, table)]
            assert sorted(found["name"] for found in answer.json) == sorted(wanted)
        for path, table in {
            "/api/events/network-traffic": "events_trafficevent",
            "/api/events/proxy": "events_proxyentry",
        }.items():
            assert api.get(path).json["total_records"] == report["rows"][table]
        audit = api.get("/api/events/audit").json
        assert {int(event["id"]) for event in audit} <= {
            row["id"] for row in rows(old, "events_auditevent")
        }
        assert len(audit) == report["rows"]["events_auditevent"]
        # And it is one to be worked with.
        made = api.post("/api/groups", {"name": "after the upgrade"})
        assert made.status == 200
        newest = api.get("/api/events/audit").json[0]
        assert newest["target_id"] == made.json["id"]
        assert int(newest["id"]) > max(int(event["id"]) for event in audit)


def test_the_oldest_file_names_every_app_that_has_tables():
    """An app that came later has no head in it, but none may be forgotten in it."""
    found = manifest(OLD)
    assert found["schema"].keys() <= schema.newest().keys()
    empty = {name for name, content in found["tables"].items() if not content["rows"]}
    assert empty == {"auth_group", "auth_group_permissions", "django_admin_log"}


@pytest.mark.sqlite
def test_readiness_names_migrations_that_are_missing(beside: Elsewhere):
    with beside(KIND, migrated=True):
        token = token_of(person())
        assert Api().get("/readyz").json["checks"]["migrations"] == "ok"
        call_command("migrate", "movingin", "zero", verbosity=0)
        answer = Api(token).get("/readyz?verbose")
        assert answer.status == 503
        assert answer.json["checks"]["migrations"] == "failed"
        assert "first movingin.0001_initial: run migrate" in answer.body.decode()


@contextmanager
def reading_users() -> Iterator[Any]:
    """Read the users' table in a transaction of another session; yields its cursor."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN; SELECT count(*) FROM accounts_user")
            yield cursor
    finally:
        other.close()


@pytest.mark.postgresql
def test_a_migration_waits_for_who_reads_a_table_and_then_goes_on(beside: Elsewhere):
    told = StringIO()
    with beside(KIND, migrated=True):
        call_command("migrate", "accounts", "0001", verbosity=0)
        with reading_users() as reader, ThreadPoolExecutor() as pool:
            letting_go = pool.submit(done_later, 4, partial(reader.execute, "COMMIT"))
            call_command("migrate", stdout=told, stderr=told)
            letting_go.result()
        assert schema.is_at(schema.newest())
    assert "a table is in use by others: " in told.getvalue()
    assert "trying again" in told.getvalue()


@pytest.mark.postgresql
def test_a_migration_that_waited_in_vain_names_who_holds_the_table(
    beside: Elsewhere, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(migrate, "PATIENCE_SECONDS", 3.0)
    with beside(KIND, migrated=True):
        call_command("migrate", "accounts", "0001", verbosity=0)
        with reading_users() as reader:
            reader.execute("SELECT pg_backend_pid()")
            [pid] = reader.fetchone()
            with pytest.raises(CommandError, match=rf"\(pid {pid}, for \d+ s\)"):
                call_command("migrate", verbosity=0)
            reader.execute("COMMIT")
        call_command("migrate", verbosity=0)
        assert schema.is_at(schema.newest())


def test_a_migration_that_was_cut_off_before_it_was_recorded_is_run_again(
    beside: Elsewhere, monkeypatch: pytest.MonkeyPatch
):
    def cut_off(*_args: str) -> None:
        raise ConnectionAbortedError

    with beside(KIND):
        with monkeypatch.context() as patch:
            patch.setattr(MigrationRecorder, "record_applied", cut_off)
            with pytest.raises(ConnectionAbortedError):
                call_command("migrate", "accounts", "0001", verbosity=0)
        call_command("migrate", "accounts", "0001", verbosity=0)
        assert "accounts_user" in connection.introspection.table_names()


def test_a_version_whose_schema_was_brought_further_backs_up_what_it_knows(
    beside: Elsewhere, tmp_path: Path
):
    """The way back from an upgrade is the version before, over the newer schema."""
    with beside(KIND, migrated=True):
        group_create(name="kept")
        MigrationRecorder(connection).record_applied("accounts", "9999_later")
        run("backup", tmp_path / "file")
    with beside(KIND):
        run("restore", tmp_path / "file")
        assert Group.objects.filter(name="kept").exists()


def test_requests_over_an_older_schema_say_that_it_is_to_be_migrated(beside: Elsewhere):
    with beside(KIND, migrated=True):
        token = token_of(person())
        call_command("migrate", "accounts", "0001", verbosity=0)
        answer = Api(token).get("/api/groups")
        assert answer.status == 503
        assert answer.json["message"].endswith("migrate")


@pytest.mark.slow
def test_of_processes_that_migrate_at_once_one_does_and_the_others_wait(tmp_path: Path):
    with own_database() if KIND == "postgresql" else nullcontext("") as url:
        server = Server(tmp_path / "var", database_url=url)
        with ThreadPoolExecutor() as pool:
            done = list(pool.map(lambda _: server.tried("migrate"), range(3)))
    assert [each.returncode for each in done] == [0, 0, 0], done


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (
            "CREATE DATABASE {0} OWNER {0} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
            "has the encoding LATIN1: make one with ENCODING 'UTF8'",
        ),
        (
            "CREATE DATABASE {0}",
            "no table may be made; let the role of SVC_DATABASE_URL own the database",
        ),
        (
            "CREATE DATABASE {0} OWNER {0}; REVOKE CREATE ON DATABASE {0} FROM {0}",
            'to create extension "btree_gist"; let the role of SVC_DATABASE_URL own',
        ),
        (
            "CREATE DATABASE {0} OWNER {0}; ALTER DATABASE {0} SET search_path = gone",
            "the database has no schema that its search_path names",
        ),
    ],
    ids=["encoding", "owner", "extensions", "search path"],
)
def test_a_new_database_that_cannot_serve_is_refused_in_one_sentence(
    tmp_path: Path, made: str, sentence: str
):
    suites, name = urlsplit(os.environ["SVC_DATABASE_URL"]), f"own_{new_id()}"
    netloc = f"{name}:x@{suites.hostname}:{suites.port}"
    url = urlunsplit(suites._replace(netloc=netloc, path=f"/{name}"))
    with psycopg.connect(urlunsplit(suites), autocommit=True) as server:
        server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        try:
            for statement in made.format(name).split("; "):
                server.execute(statement)
            done = Server(tmp_path / "var", database_url=url).tried("migrate")
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            server.execute(f"DROP ROLE {name}")
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.postgresql
@pytest.mark.parametrize("atomic", [True, False])
def test_only_a_migration_that_holds_others_up_waits_a_second_at_a_time(
    beside: Elsewhere, atomic: bool
):
    def look(_apps: Any, _editor: Any) -> None:
        limits.append(fetched("SHOW lock_timeout")[0][0])

    limits: list[str] = []
    content = {"atomic": atomic, "operations": [RunPython(look)]}
    migration: Migration = type("Looking", (Migration,), content)("looking", "backup")
    with beside(KIND, migrated=True):
        usual = fetched("SHOW lock_timeout")[0][0]
        Executor(connection).apply_migration(ProjectState(), migration)
    assert limits == ["1s" if atomic else usual]
    assert usual != "1s"


def test_who_waits_for_another_migration_is_told(beside: Elsewhere):
    told = StringIO()
    with beside(KIND, migrated=True), ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor())
        let_go = pool.submit(done_later, 2, lock_of_another(stack))
        call_command("migrate", verbosity=0, stderr=told)
        let_go.result()
    assert told.getvalue().count("another process migrates this database") == 1


def lock_of_another(stack: ExitStack) -> Callable[[], object]:
    """Take the lock of `migrate` as another process does; return what lets it go."""
    if KIND == "sqlite":
        name = connection.settings_dict["NAME"]
        return partial(os.close, open_locked(f"{name}-migrate"))
    other = connection.copy()
    stack.callback(other.close)
    cursor = stack.enter_context(other.cursor())
    cursor.execute("SELECT pg_advisory_lock(%s)", [migrate.LOCK_KEY])
    unlock = "SELECT pg_advisory_unlock(%s)"
    return partial(cursor.execute, unlock, [migrate.LOCK_KEY])


def done_later(seconds: float, deed: Callable[[], object]) -> None:
    time.sleep(seconds)
    deed()
