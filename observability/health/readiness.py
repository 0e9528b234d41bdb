"""Is this server fit to take requests? Real checks, each with a sentence."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from meshmgmt.core import runtime
from meshmgmt.core.errors import first_line
from meshmgmt.core.printable import counted
from meshmgmt.core.queries import execute, fetched
from meshmgmt.core.transactions import sqlite_patience
from meshmgmt.env import PROGRAM
from observability.database import statistics
from observability.registries import READINESS_CHECKS

STALE_SECONDS: Final = 15.0
MINIMUM_FREE: Final = 16 * 2**20
_PROBE_BYTES: Final = 4096
_PROBE_SECONDS: Final = 0.05
READ_ONLY: Final = "the database is read-only: nothing can be changed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result; `problem` is empty when all is well.

    What is not `required` is shown and does not make the server unready.
    """

    name: str
    problem: str
    required: bool = True


def findings() -> list[Finding]:
    return [
        Finding("draining", _draining()),
        *_database(),
        Finding("disk", disk_problem(settings.SVC.data_dir)),
        Finding("runtime directory", disk_problem(settings.SVC.runtime_dir)),
        *(
            Finding(name, _safely(check.problem), check.required)
            for name, check in READINESS_CHECKS.items()
        ),
        Finding("housekeeping", housekeeping_problem(), required=False),
    ]


def is_ready(found: list[Finding]) -> bool:
    return not any(finding.problem and finding.required for finding in found)


def _draining() -> str:
    draining = runtime.is_draining(settings.SVC.runtime_dir)
    return "the server is shutting down" if draining else ""


def _database() -> list[Finding]:
    try:
        fetched("SELECT 1")
    except (DatabaseError, InterfaceError) as error:
        # Or it would be found broken again by the next check.
        connection.close()
        return [
            Finding("database", f"the database does not answer: {first_line(error)}")
        ]
    return [
        Finding("database", _safely(_read_only)),
        Finding("migrations", _safely(_migrations)),
    ]


def _read_only() -> str:
    """Return that nothing can be written, found out by writing nothing."""
    try:
        with sqlite_patience(_PROBE_SECONDS):
            if connection.vendor == "postgresql":
                [(state,)] = fetched("SHOW transaction_read_only")
                return READ_ONLY if state == "on" else ""
            execute("DELETE FROM django_migrations WHERE 0")
    except OperationalError as error:
        # A lock that another holds says nothing about it.
        return READ_ONLY if "readonly" in str(error) else ""
    return ""


def _migrations() -> str:
    missing = statistics.missing_migrations()
    if not missing:
        return ""
    return (
        f"{counted(len(missing), 'migration')} missing, first {missing[0]}: run migrate"
    )


def _safely(check: Callable[[], str]) -> str:
    try:
        return check()
    except (DatabaseError, InterfaceError) as error:
        return f"could not be checked: {first_line(error)}"


def disk_problem(directory: Path) -> str:
    """Return why files cannot be written to `directory`, "" when they can."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(directory).free
    except OSError as error:
        return f"{directory} cannot be written: {error.strerror}"
    if free < MINIMUM_FREE:
        return f"{directory} has only {free // 2**20} MiB free"
    return ""


def housekeeping_problem() -> str:
    """Return what is wrong with the housekeeping process, "" when it works."""
    beat = runtime.read_json(settings.SVC.runtime_dir / runtime.HOUSEKEEPING)
    if beat is None:
        return f"no housekeeping process runs: start `{PROGRAM} housekeeping`"
    age = time.time() - float(beat["time"])
    if age > STALE_SECONDS:
        return f"the housekeeping process gave no sign for {age:.0f} seconds"
    failed = beat["failed_jobs"]
    return f"failed jobs: {failed}" if failed else ""
