"""Backup and restore: each in one transaction, each summed up."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Q
from django.utils.crypto import salted_hmac

import meshmgmt
from events.streams import citus
from events.streams.catalogue import STREAMS
from meshmgmt.backup import schema
from meshmgmt.backup.archive import (
    FORMAT,
    Archive,
    BackupError,
    Manifest,
    Watched,
    creating,
    opened,
)
from meshmgmt.backup.schema import EVENT_TABLES, Table, reset_sequences, tables
from meshmgmt.control import changes
from meshmgmt.core import clock, context, runtime
from meshmgmt.core.errors import first_line
from meshmgmt.core.queries import execute
from meshmgmt.core.transactions import account_write, read_snapshot
from meshmgmt.env import PROGRAM
from meshmgmt.serving.leadership import Leadership

_AT_FIRST: Final = {
    "accounts_account": 1,
    "api_usedpermits": None,
    "groups_group": 1,
    "dns_dnssettings": 1,
    "control_mapchange": None,
    "events_auditevent": None,
    "events_audithead": None,
    "events_auditkey": None,
    "events_audittile": None,
    "auth_permission": None,
    "django_content_type": None,
}
"""What `migrate`, and a server that nobody set up, put into a new database: at most so many
rows, None for any number."""


def secret_key_mark() -> str:
    """Return a text by which the secret key is known again."""
    return salted_hmac(__name__, "secret key", algorithm="sha256").hexdigest()[:16]


@contextmanager
def _faults_told(what: str) -> Iterator[None]:
    """Raise BackupError for whatever the database says."""
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        raise BackupError(f"{what}: {first_line(error)}") from error


_RUNNING: Final = (
    "a server or its housekeeping runs over this database: stop it first, on every host,"
    " or it goes on with what it knows of the old one (--force restores all the same)"
)
_GONE: Final = "the database cannot be used"
_IN_DOUBT: Final = (
    "a database worker has yet to learn how transactions ended: try again in a minute"
)
_SPREAD: Final = (
    "the streams of this database are spread over workers: restore into one that has them"
    " whole, then spread them"
)
_OTHERS: Final = (
    "the database has other migrations than the file: restore into a new database without"
    " tables"
)
_MIGRATE: Final = (
    "; where a restore of it was cut off after its rows,"
    f" `{PROGRAM} migrate` does the rest"
)
_REFUSED: Final = "the database refused the rows; nothing was kept"


@_faults_told(_GONE)
def back_up(path: Path, watched: Watched, *, with_events: bool = True) -> Manifest:
    """Write one state of the database to a new file while writes go on.

    Raises BackupError when the file cannot be made or migrations are missing.
    """
    # Later migrations take nothing away that this version reads.
    heads = schema.newest()
    if not schema.has(heads):
        raise BackupError(f"migrations are missing: run `{PROGRAM} migrate` first")
    found = [
        table
        for table in tables(schema.models_at(heads))
        if with_events or table.name not in EVENT_TABLES
    ]
    created_at = clock.now().isoformat(timespec="seconds")
    with creating(path) as writer:
        with _one_state() as among:
            contents = {}
            for each in found:
                table = replace(each, among=among.get(each.name, each.among))
                rows = watched(table.name, table.lines(), table.count())
                contents[table.name] = writer.add(table.name, table.columns, rows)
        manifest = Manifest(
            format=FORMAT,
            version=meshmgmt.__version__,
            created_at=created_at,
            schema=heads,
            secret_key=secret_key_mark(),
            tables=contents,
        )
        writer.finish(manifest)
    return manifest


@contextmanager
def _one_state() -> Iterator[dict[str, Q]]:
    """Read one state in a block; yields, by table, which rows belong to it.

    The snapshot is one of this server. What workers hold is read as it is by then, so
    the events are those that had arrived, while no batch was under way, when it was taken.
    """
    spread = [each for each in STREAMS.values() if citus.is_spread(each)]
    with ExitStack() as stack:
        if spread:
            stack.enter_context(citus.ingest_held())
        with read_snapshot():
            _lift_limit()
            _keep_days()
            if spread and citus.in_doubt():
                raise BackupError(_IN_DOUBT)
            uncounted = Q(arrival__isnull=True)
            among = {
                each.table: uncounted | Q(arrival__lte=citus.last_arrival(each))
                for each in spread
            }
            # Batches may come in again: their numbers are above the last one taken.
            stack.close()
            yield among


def check(path: Path, watched: Watched) -> Manifest:
    """Read a whole file without the database.

    Raises BackupError when it is not whole, or of a version that this one cannot read.
    """
    with opened(path) as archive:
        schema.models_at(archive.manifest.schema)
        archive.check(watched)
        return archive.manifest


@contextmanager
def nobody_serves() -> Iterator[None]:
    """Run a block while no housekeeping of any host starts.

    Raises BackupError when one runs, or a server on this host. Their marks are locks that
    end with the process, however it ends.
    """
    with _faults_told(_GONE):
        # First: a database that is away would look like one whose lock is taken.
        connection.ensure_connection()
    folder = settings.SVC.runtime_dir
    runtime.make(folder)
    leadership = Leadership(folder)
    if runtime.is_locked(folder, runtime.LOCK) or not leadership.held():
        leadership.release()
        raise BackupError(_RUNNING)
    try:
        yield
    finally:
        leadership.release()


@_faults_told(_GONE)
def restore(path: Path, checking: Watched, writing: Watched) -> Manifest:
    """Put the content of a file into an empty database, all of it or nothing.

    A new database gets the tables that the file has; then the migrations since. Raises
    BackupError for a file that `check` refuses and for a database that is not empty or
    has other migrations.
    """
    with opened(path) as archive:
        heads = archive.manifest.schema
        found = tables(schema.models_at(heads))
        _refuse_other(archive, found)
        archive.check(checking)
        _make_tables(heads, found)
        quiet = context.scope(unattended=True)  # tables of today may be missing
        with quiet, _faults_told(_REFUSED), account_write():
            _lift_limit()
            if any(map(citus.is_spread, STREAMS.values())):
                raise BackupError(_SPREAD)
            # Under the lock, so that nobody fills it between this look and the rows.
            _refuse_data(found)
            _fill(archive, found, writing)
            reset_sequences(found)
    call_command("migrate", verbosity=0)
    changes.begin()  # above every serial that an agent may have
    return archive.manifest


def _make_tables(heads: schema.Heads, found: list[Table]) -> None:
    """Bring a database to the schema of the file: a new one, or what a kill left of it.

    Not further: later migrations must find the rows that they are to change. Raises
    BackupError for one that has other migrations, or data.
    """
    if schema.is_at(heads):
        return
    if not schema.leads_to(heads):
        raise BackupError(f"{_OTHERS}{_cut_off()}")
    there = connection.introspection.table_names()
    _refuse_data([table for table in found if table.name in there])
    schema.migrate_to(heads)


def _cut_off() -> str:
    """Say what to do after a kill between the rows and the last migration."""
    return "" if schema.is_at(schema.newest()) else _MIGRATE


def _refuse_other(archive: Archive, found: list[Table]) -> None:
    """Raise BackupError when tables or columns are not those of the schema."""
    there = archive.manifest.tables
    columns = {table.name: table.columns for table in found}
    missing = columns.keys() - there.keys()
    wrong = [name for name in there if there[name].columns != columns.get(name)]
    if wrong or not missing <= EVENT_TABLES:
        names = ", ".join(sorted({*wrong, *(missing - EVENT_TABLES)}))
        raise BackupError(f"the file has other tables or columns: {names}")


def _refuse_data(found: list[Table]) -> None:
    """Raise BackupError when the database holds more than a new one does."""
    counts = {table.name: table.count() for table in found}
    data = {
        name: count
        for name, count in counts.items()
        if (most := _AT_FIRST.get(name, 0)) is not None and count > most
    }
    if data:
        largest = sorted(data, key=lambda name: -data[name])[:3]
        shown = ", ".join(f"{data[name]} in {name}" for name in largest)
        raise BackupError(
            f"the database holds data already (most: {shown}); restore fills empty"
            f" ones only{_cut_off()}"
        )


def _fill(archive: Archive, found: list[Table], watched: Watched) -> None:
    """Insert all rows, and read them back to compare counts and sums."""
    for table in found:
        table.clear()
    for table in found:
        content = archive.manifest.tables.get(table.name)
        if content is None:
            continue
        table.insert(watched(table.name, archive.rows(table.name), content.rows))
        if table.content(lambda name, rows, count: rows) != content:
            raise BackupError(
                f"{table.name} did not arrive as it is in the file; nothing was kept"
            )


def _lift_limit() -> None:
    """Let statements of this transaction last longer than those of requests may."""
    if connection.vendor == "postgresql":
        execute("SET LOCAL statement_timeout = 0")


def _keep_days() -> None:
    """Keep retention from dropping days that the tallies in this snapshot count.

    To be called before the first query, which takes the snapshot.
    """
    if connection.vendor == "postgresql":
        names = ", ".join(stream.table for stream in STREAMS.values())
        execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
