"""Schemas: which migrations a database has, and its tables at them.

Tables are read as lines that are the same on both kinds of database.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import count
from typing import Any, Final

import orjson
from django.apps.registry import Apps
from django.core.management.color import no_style
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.models import Q, QuerySet
from django.db.models.functions import Collate

from events.models import ProxyRollUp, RollUpGap, RollUpMark, TrafficRollUp
from events.streams import partitions
from events.streams.catalogue import STREAMS, Stream
from meshmgmt.backup.archive import CHUNK, BackupError, Content, Sum, Watched, chunks
from meshmgmt.core.migrating import Executor
from meshmgmt.core.queries import columns_of, execute, insert_rows

Heads = Mapping[str, str]
"""Name of the newest migration by the label of its app."""

LEFT_OUT: Final = frozenset({"django_session", "django_migrations"})
"""Who signed out stays so, and migrations are what the manifest's `schema` names."""

EVENT_TABLES: Final = frozenset(
    model._meta.db_table
    for stream in STREAMS.values()
    for model in (stream.model, stream.tally_model)
) | frozenset(
    model._meta.db_table
    for model in (TrafficRollUp, ProxyRollUp, RollUpMark, RollUpGap)
)
"""What a backup may leave out: the streams, and what counts and adds them up."""

_EVERY: Final = Q()
_ARRIVAL: Final = "arrival"
_COUNTED_FROM: Final = 10**15
"""Arrivals are counted from the microseconds of this century; others are SQLite's own."""

_STREAM_OF: Final = {stream.table: stream for stream in STREAMS.values()}
_PARSED: Final[dict[str, Callable[[str], Any]]] = {
    "DateTimeField": datetime.fromisoformat,
    "DateField": date.fromisoformat,
    "BinaryField": b64decode,
}
# A JSON column holds text in SQLite and an object in PostgreSQL.
_PREPARED: Final = {*_PARSED, "JSONField"}
_TEXTS: Final = {"CharField", "TextField"}


def newest() -> dict[str, str]:
    """Return the heads of this version of the service."""
    # Without a connection: what this version has, not what the database has.
    return dict(sorted(MigrationLoader(None).graph.leaf_nodes()))


def is_at(heads: Heads) -> bool:
    """Tell whether the database has the migrations up to these and no other."""
    wanted, applied = _migrations(heads)
    return wanted == applied


def has(heads: Heads) -> bool:
    """Tell whether the database has all migrations up to these, and maybe later ones."""
    wanted, applied = _migrations(heads)
    return wanted <= applied


def leads_to(heads: Heads) -> bool:
    """Tell whether all migrations that the database has are among those up to these."""
    wanted, applied = _migrations(heads)
    return applied <= wanted


def _migrations(heads: Heads) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return those up to the heads, and those that the database has."""
    loader = MigrationLoader(connection)
    wanted = {
        node for head in heads.items() for node in loader.graph.forwards_plan(head)
    }
    return wanted, set(loader.applied_migrations)


def migrate_to(heads: Heads) -> None:
    """Make the tables that are missing; what rooms add after a migration is not."""
    Executor(connection).migrate(list(heads.items()))


def models_at(heads: Heads) -> Apps:
    """Return models that have the columns of these migrations.

    Raises BackupError for a migration that this version does not have.
    """
    loader = MigrationLoader(None)
    for app, name in heads.items():
        if (app, name) not in loader.graph.nodes:
            raise BackupError(
                f"the file is of a newer or another version: it has the migration"
                f" {app} {name}, which this one does not know"
            )
    return loader.project_state(list(heads.items())).apps


@dataclass(frozen=True)
class Table:
    """One table, by a model of the schema that it has; of its rows those `among`."""

    model: type[models.Model]
    among: Q = _EVERY

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def columns(self) -> tuple[str, ...]:
        fields = self.model._meta.concrete_fields
        return tuple(field.column or "" for field in fields)

    def count(self) -> int:
        return self._rows().count()

    def _rows(self) -> QuerySet[Any]:
        return self.model._base_manager.filter(self.among)

    def lines(self) -> Iterator[bytes]:
        """Yield the rows in an order that both kinds of database agree upon."""
        names = columns_of(self.model)
        rows = self._rows().order_by(*self._order()).values_list(*names)
        option = orjson.OPT_UTC_Z | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        counted = self.name in _STREAM_OF and _ARRIVAL in names
        number = names.index(_ARRIVAL) if counted else None
        for row in rows.iterator(chunk_size=CHUNK):
            shown = row if number is None else _uncounted_as_null(row, number)
            yield orjson.dumps(shown, default=_as_text, option=option)

    def _order(self) -> list[Any]:
        key = self.model._meta.pk
        assert key is not None
        if stream := _STREAM_OF.get(self.name):
            # As the index has them, in every collation.
            return [stream.time_field, "id"]
        if connection.vendor == "postgresql" and key.get_internal_type() in _TEXTS:
            # By bytes, as SQLite sorts: the order of the lines is part of their sum.
            return [Collate(key.name, "C")]
        return [key.attname]

    def content(self, watched: Watched) -> Content:
        """Read the table and sum it up."""
        total = Sum()
        for found in chunks(watched(self.name, self.lines(), self.count())):
            total.add(found)
        return total.content(self.columns)

    def clear(self) -> None:
        table = connection.ops.quote_name(self.name)
        execute(f"DELETE FROM {table}")  # noqa: S608 - our name

    def insert(self, rows: Iterable[list[Any]]) -> None:
        """Insert rows as they were read from lines, in the running transaction."""
        read = [_reader(field) for field in self.model._meta.concrete_fields]
        stream = _STREAM_OF.get(self.name)
        on_sqlite = stream is not None and connection.vendor == "sqlite"
        for found in chunks(rows):
            if stream is not None:
                partitions.ensure(stream, self._days(stream, found))
            insert_rows(
                self.model,
                columns_of(self.model),
                [
                    tuple(one(value) for one, value in zip(read, row, strict=True))
                    for row in (self._numbered(found) if on_sqlite else found)
                ],
            )

    def _numbered(self, rows: list[list[Any]]) -> list[list[Any]]:
        """Give what was never counted numbers below all others: SQLite's key has none."""
        names = columns_of(self.model)
        if _ARRIVAL not in names:
            return rows
        position = names.index(_ARRIVAL)
        least = self.model._base_manager.aggregate(least=models.Min(_ARRIVAL))["least"]
        below = count(min(least or 0, 0) - 1, -1)
        return [
            [*row[:position], next(below), *row[position + 1 :]]
            if row[position] is None
            else row
            for row in rows
        ]

    def _days(self, stream: Stream, rows: list[list[Any]]) -> set[date]:
        """Return the days of rows; their times are texts, in UTC."""
        position = self.columns.index(stream.time_field)
        return {date.fromisoformat(row[position][:10]) for row in rows}


def tables(registry: Apps) -> list[Table]:
    """Return all tables that a backup of this schema holds."""
    found = {
        model._meta.db_table: Table(model)
        for model in registry.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    }
    return [table for name, table in sorted(found.items()) if name not in LEFT_OUT]


def reset_sequences(found: Iterable[Table]) -> None:
    """Let the next row of each table have the key after the greatest."""
    statements = connection.ops.sequence_reset_sql(
        no_style(), [table.model for table in found]
    )
    if connection.vendor == "postgresql":
        statements += [_arrivals_to_come(stream) for stream in STREAMS.values()]
    for statement in statements:
        execute(statement)


def _arrivals_to_come(stream: Stream) -> str:
    """Return what numbers events from now on above all that anybody has gone past.

    The tables, with the sequence, may be older than the file: whoever follows the stream
    would pass over what comes in until the sequence has come as far.
    """
    return (
        f"SELECT setval('{stream.arrivals}', greatest("  # noqa: S608 - our names
        " (extract(epoch FROM clock_timestamp()) * 1e6)::bigint,"
        f" (SELECT max(n) FROM {stream.table}),"
        " (SELECT max(arrival) FROM events_rollupmark),"
        " (SELECT max(cursor) FROM delivery_subscription)))"
    )


def _uncounted_as_null(row: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    """Return a row as PostgreSQL has it: events from before counting have no number."""
    number = row[position]
    if number is None or number >= _COUNTED_FROM:
        return row
    return (*row[:position], None, *row[position + 1 :])


def _as_text(value: bytes | memoryview) -> str:
    """Return bytes, which JSON has not, as base64 (RFC 4648)."""
    return b64encode(value).decode()


def _reader(field: Any) -> Callable[[Any], Any]:
    """Return what turns a JSON value into a parameter of the database."""
    kind = field.get_internal_type()
    parse = _PARSED.get(kind)
    if kind not in _PREPARED:
        return lambda value: value

    def read(value: Any) -> Any:
        if parse is not None and value is not None:
            value = parse(value)
        return field.get_db_prep_save(value, connection)

    return read
