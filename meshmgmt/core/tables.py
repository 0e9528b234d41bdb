"""Tables: whether they are there, and their rows as the database gives them."""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet

Rows = list[tuple[Any, ...]]

KEPT: Final = 64
MOST_PARAMETERS: Final = 999
"""SQLite takes no more in a statement, at worst."""


class PreparedRows:
    """Rows of a `values_list()` that is asked often, read without Django's work.

    Making the SQL takes longer than reading a few rows, converting takes as long as
    reading many. So the SQL is kept, for each size of its lists, and values come as the
    database gives them: JSON columns (cast to text) as text, booleans of SQLite as 0
    and 1.
    """

    def __init__(self, make: "Callable[..., QuerySet[Any, Any]]") -> None:
        """Let `make` give the query for lists of texts, in the order of `read`."""
        self._make = make
        self._statement = lru_cache(maxsize=KEPT)(self._compiled)

    def read(self, *lists: Sequence[str]) -> Rows:
        """Return the rows for these lists."""
        sql, parameters = self._statement(*map(len, lists))
        if not sql:
            return []
        values = {
            _mark(number, place): value
            for number, listed in enumerate(lists)
            for place, value in enumerate(listed)
        }
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(sql, [values.get(each, each) for each in parameters])
            rows: Rows = cursor.fetchall()
            return rows

    def _compiled(self, *sizes: int) -> tuple[str, tuple[Any, ...]]:
        """SQL and parameters, with marks for values; no SQL if nothing can match."""
        marks = (
            [_mark(number, place) for place in range(size)]
            for number, size in enumerate(sizes)
        )
        try:
            return self._make(*marks).query.sql_with_params()
        except EmptyResultSet:
            return "", ()


def _mark(number: int, place: int) -> str:
    return f"\0{number}.{place}"


def insert_rows(
    model: type[Model], names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows of the fields `names` in their order, as the database takes values.

    Many rows go into a statement, which costs SQLite's full-text triggers a quarter of
    what a statement for each does; PostgreSQL copies what is more than that.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    target = _target(connection.vendor, model, tuple(names))
    at_once = MOST_PARAMETERS // len(names)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) > at_once:
            with cursor.copy(f"COPY {target} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            cursor.execute(
                _insertion(target, len(names), len(part)),
                [value for row in part for value in row],
            )


@cache
def _target(vendor: str, model: type[Model], names: tuple[str, ...]) -> str:
    """Return table and columns; `vendor` stands for how the database quotes names."""
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    stored = {field.name: field.column for field in model._meta.concrete_fields}
    stored |= {field.attname: field.column for field in model._meta.concrete_fields}
    columns = ", ".join(quote(stored[name] or "") for name in names)
    return f"{quote(model._meta.db_table)} ({columns})"


@cache
def _insertion(target: str, columns: int, rows: int) -> str:
    row = f"({', '.join(['%s'] * columns)})"
    return f"INSERT INTO {target} VALUES {', '.join([row] * rows)}"  # noqa: S608 - our names


def tables_exist(*models: type[Model]) -> bool:
    """Tell whether the tables of all `models` are there.

    They are not while only some apps are migrated, or an app is migrated to zero.
    """
    names = connections[DEFAULT_DB_ALIAS].introspection.table_names()
    return {model._meta.db_table for model in models} <= set(names)
