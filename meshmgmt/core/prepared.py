"""Queries that every request makes, whose statement Django writes once.

Writing the statement of a wide table costs several times what running it costs.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from inspect import signature
from typing import Any, Final, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet

ModelT = TypeVar("ModelT", bound=Model)
Row = tuple[Any, ...]


class Prepared:
    """Rows of a `values_list()` that is searched by texts.

    `make` returns the query for such texts, one for each of its arguments, which must
    reach the database as they are.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Row]]) -> None:
        self._make = make
        self._marks: Final = [f"\0{name}" for name in signature(make).parameters]

    @cached_property
    def _made(self) -> tuple[str, Sequence[Any], dict[int, Any]]:
        """Statement, parameters with marks among them, and what columns go through."""
        compiler: Any = self._make(*self._marks).query.get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        columns = [column for column, *_ in compiler.select]
        return sql, parameters, compiler.get_converters(columns)

    def rows(self, *values: str) -> Iterator[Row]:
        """Yield the rows for the values, as the query itself would."""
        sql, parameters, converters = self._made
        given = dict(zip(self._marks, values, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(sql, [given.get(item, item) for item in parameters])
            found = cursor.fetchall()
        for row in found:
            columns = list(row)
            for place, (steps, expression) in converters.items():
                for step in steps:
                    columns[place] = step(columns[place], expression, connection)
            yield tuple(columns)


def columns_of(model: type[Model], prefix: str = "") -> list[str]:
    """Return the columns of a model as `values_list()` takes them."""
    return [f"{prefix}{field.attname}" for field in model._meta.concrete_fields]


def loaded(model: type[ModelT], row: Sequence[Any]) -> ModelT:
    """Return the object that is stored as a row of all columns."""
    return model.from_db(DEFAULT_DB_ALIAS, columns_of(model), row)
