"""Tables: whether they are there, and their rows as the database gives them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet

Rows = list[tuple[Any, ...]]

KEPT: Final = 64


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


def tables_exist(*models: type[Model]) -> bool:
    """Tell whether the tables of all `models` are there.

    They are not while only some apps are migrated, or an app is migrated to zero.
    """
    names = connections[DEFAULT_DB_ALIAS].introspection.table_names()
    return {model._meta.db_table for model in models} <= set(names)
