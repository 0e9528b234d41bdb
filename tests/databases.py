"""Databases beside that of the suite, of either kind, in the same process."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol

from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection, connections, transaction

from meshmgmt import settings
from meshmgmt.core import context
from tests.conftest import on_postgresql
from tests.runfolder import copy_migrated_database

KIND: Final = "postgresql" if on_postgresql() else "sqlite"
"""The kind of the database under test; SQLite can be made beside either."""

_numbers: Final = count(1)


class Elsewhere(Protocol):
    """Makes a database of a kind the one of this process, for a block."""

    def __call__(
        self, kind: str, *, migrated: bool = False
    ) -> AbstractContextManager[None]:
        """Begin with a new database, with or without tables."""


@contextmanager
def elsewhere(kind: str, *, folder: Path, migrated: bool = False) -> Iterator[None]:
    """Make a new database the one of this process; then back to the suite's."""
    number = next(_numbers)
    suites = connections["default"]
    if kind == "sqlite":
        file = folder / f"{number}.sqlite3"
        if migrated:
            copy_migrated_database(file)
        config = settings._sqlite(str(file))
        config["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
        with _used(config):
            yield
        return
    name = f"{suites.settings_dict['NAME']}_beside_{number}"
    with suites._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        with _used({**suites.settings_dict, "NAME": name}):
            if migrated:
                call_command("migrate", verbosity=0)
            yield
    finally:
        with suites._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _used(config: dict[str, Any]) -> Iterator[None]:
    known: Any = connections.settings
    suites, suites_config = connections["default"], known["default"]
    known["default"] = connections.configure_settings({"default": config})["default"]
    connections["default"] = connections.create_connection("default")
    _forget_the_database()
    try:
        yield
    finally:
        connections["default"].close()
        known["default"] = suites_config
        connections["default"] = suites
        _forget_the_database()


def _forget_the_database() -> None:
    """Forget what the process remembers of its one database."""
    context.forget_account()
    ContentType.objects.clear_cache()


@contextmanager
def undone() -> Iterator[None]:
    """Take back what a block does to the database, in the transaction of a test."""
    mark = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(mark)


@contextmanager
def few_parameters(number: int) -> Iterator[None]:
    """Let SQLite take no more parameters in a statement; PostgreSQL bounds them itself."""
    if connection.vendor != "sqlite":
        yield
        return
    raw = connection.connection
    before = raw.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, number)
    try:
        yield
    finally:
        raw.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)
