"""What every process of the service does when it begins."""

from typing import Final

import django

from meshmgmt.core import runtime
from meshmgmt.env import Config
from observability.logs import handlers, loglevels
from observability.logs.loglevels import LEVELS
from observability.metrics import metricfiles

STATEMENT_SECONDS: Final = 30
"""Half of the time after which gunicorn and a proxy would lose their patience."""


def begin(config: Config) -> None:
    """Set Django up in a process that counts and logs with the others.

    To be called before anything imports prometheus_client, so the command of such a
    process stands in `commandline.WITHOUT_APPS`.
    """
    runtime.make(config.runtime_dir)
    metricfiles.share(config.runtime_dir / runtime.METRICS)
    django.setup()
    follow_levels(config)


def bound_requests(threads: int) -> None:
    """Keep a thread from waiting for writes or large answers, and statements from going on.

    For processes that answer requests; migrations, commands and jobs take their time.
    Requests also go through the pooler, if there is one: they keep nothing in a session
    from one transaction to the next, while others listen there and hold locks.
    """
    from django.db import DEFAULT_DB_ALIAS, connections  # noqa: PLC0415 - not in the master

    from meshmgmt.api.answers import readers  # noqa: PLC0415
    from meshmgmt.core.transactions import writers  # noqa: PLC0415

    writers.places = max(1, threads // 2)
    readers.places = max(1, (threads - 1) // 2)
    for settings in connections.settings.values():
        settings["STATEMENT_SECONDS"] = STATEMENT_SECONDS
    database = connections.settings[DEFAULT_DB_ALIAS]
    database.update(database.get("POOLER", {}))


def follow_levels(config: Config) -> None:
    """Follow changes of the log level, and keep recent records for bundles."""
    LEVELS.follow(config.runtime_dir)
    loglevels.watch()
    handlers.add_spool(config)
