"""Look-ups by the ids that clients send, statements kept ready, rows put in at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from inspect import signature
from typing import Any, Final, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models import Model, QuerySet

from meshmgmt.core.errors import NotFound
from meshmgmt.core.ids import is_id

Item = TypeVar("Item")
ModelT = TypeVar("ModelT", bound=models.Model)

BATCH: Final = 500
"""Databases bound the number of parameters of a statement; SQLite by 999 at worst."""


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield the items in parts that a statement can take."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def known_ids(model: type[models.Model], ids: Iterable[str]) -> set[str]:
    wanted = [identifier for identifier in dict.fromkeys(ids) if is_id(identifier)]
    rows = model._default_manager.order_by().values_list("pk", flat=True)
    return {pk for part in batches(wanted) for pk in rows.filter(pk__in=part)}


def found(
    model: type[ModelT], identifier: str, *, kind: str, **where: object
) -> ModelT:
    """Return the object with the id (and `where`). Raises NotFound naming `kind`."""
    instance = model._default_manager.filter(pk=identifier, **where).first()
    if instance is None:
        raise NotFound.of(kind, identifier)
    return instance


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
