"""Inserts events with one statement that is compiled once.

Every write in the service ends with this insert, inside the write lock. Building the
statement by `bulk_create()` takes longer than running it.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections, models

from events.models.audit import AuditEvent

_ROWS_AT_ONCE: Final = 500


def insert_events(events: Sequence[AuditEvent]) -> None:
    """Insert unsaved events in their order; their ids grow in it."""
    connection = connections[DEFAULT_DB_ALIAS]
    with connection.cursor() as cursor:
        for start in range(0, len(events), _ROWS_AT_ONCE):
            part = events[start : start + _ROWS_AT_ONCE]
            statement = _statement(connection.vendor)
            cursor.executemany(
                statement, [_values(event, connection) for event in part]
            )


@cache
def _columns() -> tuple["models.Field[Any, Any]", ...]:
    return tuple(
        column for column in AuditEvent._meta.concrete_fields if not column.primary_key
    )


@cache
def _statement(vendor: str) -> str:
    """Return the statement; `vendor` stands for how the database quotes names."""
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    names = ", ".join(quote(column.column or "") for column in _columns())
    marks = ", ".join(["%s"] * len(_columns()))
    table = quote(AuditEvent._meta.db_table)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our names


def _values(event: AuditEvent, connection: Any) -> list[Any]:
    return [
        column.get_db_prep_save(column.pre_save(event, add=True), connection=connection)
        for column in _columns()
    ]
