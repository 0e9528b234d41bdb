"""Inserts events with statements that are compiled once.

Every write in the service ends with this insert, inside the write lock. Building the
statement by `bulk_create()` takes longer than running it.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections, models

from events.models.audit import AuditEvent
from meshmgmt.core.tables import insert_rows

_PLAIN: Final = models.CharField
"""Fields whose values the database takes as they are."""


def insert_events(events: Sequence[AuditEvent]) -> None:
    """Insert unsaved events in their order; their ids grow in it."""
    connection = connections[DEFAULT_DB_ALIAS]
    names = [column.attname for column in _columns()]
    insert_rows(AuditEvent, names, [_values(event, connection) for event in events])


@cache
def _columns() -> tuple["models.Field[Any, Any]", ...]:
    return tuple(
        column for column in AuditEvent._meta.concrete_fields if not column.primary_key
    )


def _values(event: AuditEvent, connection: Any) -> list[Any]:
    facts = vars(event)
    return [
        facts[column.attname]
        if type(column) is _PLAIN
        else column.get_db_prep_save(
            column.pre_save(event, add=True), connection=connection
        )
        for column in _columns()
    ]
