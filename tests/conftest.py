"""Fixtures of the whole suite."""

import gc
import os
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.conf import settings
from django.db import connection, transaction
from hypothesis import settings as hypothesis_settings

from meshmgmt.core.collector import loading
from tests import runfolder
from tests.logscan import log_scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client

    from meshmgmt.accounts.models import User
    from tests.api_client import Api
    from tests.servers import Server

__all__ = ["log_scan"]  # an autouse fixture

# Every example counts, none is a matter of the machine's speed.
hypothesis_settings.register_profile("fast", max_examples=60, deadline=None)
hypothesis_settings.register_profile("full", max_examples=2000, deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Each server and command that a test starts would compile the whole program again, and
# each run of the suite its tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def fresh_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a test asked count for no other; the database forgets, too."""
    from meshmgmt.api import limits  # noqa: PLC0415 - Django is not set up above

    fresh = limits.configured()
    monkeypatch.setattr(limits.LIMITS, "others", fresh.others)
    monkeypatch.setattr(limits.LIMITS, "guesses", fresh.guesses)


@pytest.fixture(scope="session", autouse=True)
def folders_of_the_run() -> None:
    """Keep out of the folders of the checkout, where the service may have run."""
    folder = runfolder.path() / f"process-{os.getpid()}"
    data, run = folder / "data", folder / "run"
    for each in (data, run):
        each.mkdir(parents=True)
    settings.SVC = replace(settings.SVC, data_dir=data, runtime_dir=run)


KEPT: Final = {"django_content_type", "auth_permission"}
"""Tables that Django would fill again after every test that commits."""


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> None:
    """Empty only tables that hold something: all of them take half a second."""
    ops: Any = connection.ops
    ops.execute_sql_flush = delete_rows


def delete_rows(_: object) -> None:
    """Delete what tests have committed, in place of Django's statements for all tables."""
    names = {*connection.introspection.django_table_names(only_existing=True)} - KEPT
    some = (f"SELECT '{x}' WHERE EXISTS (SELECT 1 FROM \"{x}\")" for x in names)  # noqa: S608 - ours
    # Foreign keys are looked at when it ends.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(some))
        for (name,) in cursor.fetchall():
            cursor.execute(f'DELETE FROM "{name}"')  # noqa: S608 - ours


@pytest.fixture
def owner(db: None) -> "User":
    """A person who may do everything."""
    from tests.people import person  # noqa: PLC0415

    return person("owner")


@pytest.fixture
def wide_range(db: None) -> None:
    """The account's peers may have any address that tests write down."""
    from tests.factories import account_settings  # noqa: PLC0415

    account_settings(network_range="100.64.0.0/10")


@pytest.fixture
def client(owner: "User") -> "Client":
    """The owner's browser, signed in to the admin site."""
    from tests.admin.signed_in import client_of  # noqa: PLC0415

    return client_of(owner)


@pytest.fixture
def api(db: None) -> "Api":
    """A client of the API that may do everything."""
    from tests.people import api_as  # noqa: PLC0415

    return api_as("owner")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Server]":
    """A running server with an owner, for all tests that leave it as others find it.

    Its housekeeping has made the trail's key: that is an event which no test expects.
    """
    from tests.servers import running_server  # noqa: PLC0415
    from tests.waiting import until  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("server") / "var"
    with running_server(folder, content="owner") as started:
        made = "/api/events/audit?activity_code=audit.key.create"
        until(lambda: started.ask("GET", made), "the trail's key")
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a server of the test's own."""
    return tmp_path / "server"


@pytest.fixture
def few_parameters(db: None) -> "Iterator[None]":
    """Let SQLite's statements take no more parameters than they do at worst."""
    from meshmgmt.core.queries import MOST_PARAMETERS  # noqa: PLC0415

    connection.ensure_connection()
    usual = connection.connection.setlimit(
        sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, MOST_PARAMETERS
    )
    yield
    connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, usual)


def on_postgresql() -> bool:
    """Tell whether PostgreSQL is the database under test."""
    return str(settings.DATABASES["default"]["ENGINE"]).endswith("postgresql")


def uses_the_database(item: pytest.Item) -> bool:
    """Tell whether a test works on the database of the suite.

    The servers of the end-to-end tests make one beside it.
    """
    fixtures = set(getattr(item, "fixturenames", ()))
    return (
        item.get_closest_marker("django_db") is not None
        or item.get_closest_marker("postgresql") is not None
        or bool(fixtures & {"db", "transactional_db", "live_server", "deployment"})
        or "e2e" in item.path.parts
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> "Iterator[None]":
    """Let the collector pass over the program and its tests, and come less often.

    It would look through a million objects that stay: a tenth of the suite's time.
    """
    with loading():
        yield
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out what says nothing about the database under test.

    Marked tests need their own kind; a test that touches no database, or starts a
    server with one of its own, would only repeat on PostgreSQL what it said on SQLite.
    """
    other = "sqlite" if on_postgresql() else "postgresql"
    left_out = [
        item
        for item in items
        if item.get_closest_marker(other) is not None
        or (on_postgresql() and not uses_the_database(item))
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = {id(item) for item in left_out}
        items[:] = [item for item in items if id(item) not in gone]


def pytest_configure(config: pytest.Config) -> None:
    """Put SQLite's test database into a file: threads need real connections.

    Durability is switched off for speed; crash tests start servers of their own.
    """
    if not hasattr(config, "workerinput"):
        runfolder.make()
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        file = runfolder.path() / "tests.sqlite3"
        database.setdefault("TEST", {})["NAME"] = str(file)
        database["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
    # One process's locks and figures are no other's.
    mine = runfolder.path() / os.environ.get("PYTEST_XDIST_WORKER", "alone")
    settings.SVC = replace(settings.SVC, runtime_dir=mine)
    # Each client would look at all static files before its first request.
    settings.WHITENOISE_AUTOREFRESH = True
    # Each password hash would cost a third of a second.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    runfolder.AT_END.close()
    if not hasattr(config, "workerinput"):
        runfolder.remove()
