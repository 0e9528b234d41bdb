"""What every process of the service does when it begins."""

from typing import Final

import django
from django.core.management.base import CommandError

from meshmgmt.core import runtime
from meshmgmt.core.collector import loading
from meshmgmt.env import NOT_SET_UP, Config
from observability.logs import handlers, loglevels
from observability.logs.loglevels import LEVELS
from observability.metrics import metricfiles

STATEMENT_SECONDS: Final = 30
"""Half of the time after which gunicorn and a proxy would lose their patience."""

JOB_STATEMENT_SECONDS: Final = 300
"""Jobs go through whole tables, but no statement waits for a database that hangs."""


def begin(config: Config) -> None:
    """Set Django up in a process that counts and logs with the others.

    To be called before anything imports prometheus_client, so the command of such a
    process stands in `commandline.WITHOUT_APPS`.
    """
    runtime.make(config.runtime_dir)
    metricfiles.share(config.runtime_dir / runtime.METRICS)
    with loading():
        django.setup()
    follow_levels(config)


def bound_requests() -> None:
    """Keep statements from going on without end.

    For processes that answer requests; migrations and commands take their time.
    Requests also go through the pooler, if there is one: they keep nothing in a session
    from one transaction to the next, while others listen there and hold locks.
    """
    from django.db import DEFAULT_DB_ALIAS, connections  # noqa: PLC0415 - not in the master

    bound_statements(STATEMENT_SECONDS)
    database = connections.settings[DEFAULT_DB_ALIAS]
    database.update(database.get("POOLER", {}))


def bound_statements(seconds: int) -> None:
    """Let no statement of this process take longer, whatever becomes of the database."""
    from django.db import connections  # noqa: PLC0415 - not in the master

    for settings in connections.settings.values():
        settings["STATEMENT_SECONDS"] = seconds


def require_tables() -> None:
    """Raise CommandError over an empty database; one that is away is waited for."""
    from django.db import DatabaseError, InterfaceError, connection  # noqa: PLC0415 - not in the master

    try:
        empty = not connection.introspection.table_names()
    except (DatabaseError, InterfaceError):
        return
    finally:
        connection.close()
    if empty:
        raise CommandError(NOT_SET_UP)


def follow_levels(config: Config) -> None:
    """Follow changes of the log level, and keep recent records for bundles."""
    LEVELS.follow(config.runtime_dir)
    loglevels.watch()
    handlers.add_spool(config)
