"""Look-ups by the ids that clients send, statements as texts, rows put in at once."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models import Model, QuerySet

from meshmgmt.core.errors import NotFound
from meshmgmt.core.ids import is_id

Item = TypeVar("Item")
ModelT = TypeVar("ModelT", bound=models.Model)

_Converters = dict[int, Any]

BATCH: Final = 500
"""Databases bound the number of parameters of a statement; SQLite by 999 at worst."""


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield the items in parts that a statement can take."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def rows_with(
    rows: "QuerySet[Any, Any]", wanted: Mapping[str, Iterable[str]]
) -> Collection["Row"]:
    """Return the rows that have one of the values of one of the columns, each once.

    `rows` is a `values_list()` that begins with the primary key.
    """
    found: dict[str, Row] = {}
    for column, values in wanted.items():
        for part in batches(list(values)):
            having = rows.filter(**{f"{column}__in": part})
            found.update((row[0], row) for row in having)
    return found.values()


def narrowed(
    rows: "QuerySet[ModelT]", ids: Collection[str] | None, key: str = "pk"
) -> "QuerySet[ModelT]":
    """Return those of the rows whose `key` is one of some ids; None: all rows."""
    return rows if ids is None else rows.filter(**{f"{key}__in": ids})


def known_ids(model: type[models.Model], ids: Iterable[str]) -> set[str]:
    # PostgreSQL refuses NUL bytes in a text, so what can be no id is not asked for.
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


def numbers_by_state(
    rows: "QuerySet[Any] | models.Manager[Any]", states: Mapping[str, models.Q]
) -> dict[str, int]:
    """Return how many rows are in each state, by its name; one query for all."""
    # Prefixed, or a state would hide the column of its name from the next.
    found = rows.aggregate(
        **{f"in_{name}": models.Count("pk", filter=q) for name, q in states.items()}
    )
    return {name: found[f"in_{name}"] for name in states}


Row = tuple[Any, ...]
Rows = list[Row]


def fetched(sql: str, params: Sequence[Any] | None = None) -> Rows:
    """Return the rows that a statement gives."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: Rows = cursor.fetchall()
    return rows


def execute(sql: str, params: Sequence[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


KEPT: Final = 64


class Prepared:
    """Rows of a `values_list()` that is asked often, its SQL made once.

    Making the SQL takes longer than reading a few rows, converting values as long as
    reading many. `make` returns the query for texts, or for lists of texts, as they are
    given to `rows` and `plain`; they must reach the database as they are. The SQL is kept
    for each size of the lists and each kind of database. For other values, such as the
    whole numbers that few tables have for ids, it is made each time.
    """

    def __init__(self, make: "Callable[..., QuerySet[Any, Any]]") -> None:
        self._make = make
        self._statement = lru_cache(maxsize=KEPT)(self._compiled)

    def plain(self, *values: str | Sequence[str]) -> Rows:
        """Return the rows as the database gives them.

        JSON columns (cast to text) are text then, booleans of SQLite 0 and 1.
        """
        return self._read(values)[0]

    def rows(self, *values: str | Sequence[str]) -> Iterator[Row]:
        """Yield the rows as the query itself would, every column converted."""
        found, converters = self._read(values)
        for row in found:
            columns = list(row)
            for place, (steps, expression) in converters.items():
                for step in steps:
                    columns[place] = step(columns[place], expression, connection)
            yield tuple(columns)

    def _read(self, values: Sequence[str | Sequence[str]]) -> tuple[Rows, _Converters]:
        if not all(isinstance(value, str | Sequence) for value in values):
            return list(self._make(*values)), {}  # the SQL that is kept takes texts
        sizes = [None if isinstance(value, str) else len(value) for value in values]
        sql, parameters, converters = self._statement(connection.vendor, *sizes)
        if not sql:
            return [], {}
        given = {
            _mark(number, place): text
            for number, value in enumerate(values)
            for place, text in enumerate([value] if isinstance(value, str) else value)
        }
        with connection.cursor() as cursor:
            cursor.execute(sql, [given.get(each, each) for each in parameters])
            return cursor.fetchall(), converters

    def _compiled(
        self, vendor: str, *sizes: int | None
    ) -> tuple[str, tuple[Any, ...], _Converters]:
        """SQL, parameters with marks for values, and what columns go through.

        No SQL if nothing can match. `vendor` stands for the kind of database.
        """
        marks = [
            _mark(number, 0)
            if size is None
            else [_mark(number, place) for place in range(size)]
            for number, size in enumerate(sizes)
        ]
        compiler: Any = self._make(*marks).query.get_compiler(DEFAULT_DB_ALIAS)
        try:
            sql, parameters = compiler.as_sql()
        except EmptyResultSet:
            return "", (), {}
        columns = [column for column, *_ in compiler.select or ()]
        return sql, parameters, compiler.get_converters(columns)


def _mark(number: int, place: int) -> str:
    # No value that a statement has anyway can be like it: none holds a NUL byte.
    return f"\0{number}.{place}"


def columns_of(model: type[Model], prefix: str = "") -> list[str]:
    """Return the columns of a model as `values_list()` takes them."""
    return [f"{prefix}{field.attname}" for field in model._meta.concrete_fields]


def loaded(model: type[ModelT], row: Sequence[Any]) -> ModelT:
    """Return the object that is stored as a row of all columns."""
    return model.from_db(DEFAULT_DB_ALIAS, columns_of(model), row)


@cache
def _by_ids(model: type[Model]) -> Prepared:
    rows = model._default_manager.order_by().values_list(*columns_of(model))
    return Prepared(lambda ids: rows.filter(pk__in=ids))


def stored(model: type[ModelT], ids: Iterable[str]) -> Iterator[ModelT]:
    """Yield the objects with these ids (texts) that exist, each once, in no order."""
    for part in batches(list(dict.fromkeys(ids))):
        for row in _by_ids(model).rows(part):
            yield loaded(model, row)


MOST_PARAMETERS: Final = 999
"""SQLite takes no more in a statement, at worst."""


def insert_rows(
    model: type[Model],
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    into: str = "",
) -> None:
    """Insert rows of the fields `names` in their order, as the database takes values.

    They go `into` another table that has the same columns where one is named.

    Many rows go into a statement, which costs SQLite's full-text triggers a quarter of
    what a statement for each does; PostgreSQL copies what is more than that.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    target = _target(connection.vendor, model, tuple(names), into)
    at_once = MOST_PARAMETERS // len(names)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) > at_once:
            # Django knows no COPY: psycopg's own cursor does it, and its errors are
            # wrapped here.
            with (
                connection.wrap_database_errors,
                cursor.cursor.copy(f"COPY {target} FROM STDIN") as copy,
            ):
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
def _target(vendor: str, model: type[Model], names: tuple[str, ...], into: str) -> str:
    """Return table and columns; `vendor` stands for how the database quotes names."""
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    stored = {field.name: field.column for field in model._meta.concrete_fields}
    stored |= {field.attname: field.column for field in model._meta.concrete_fields}
    columns = ", ".join(quote(stored[name] or "") for name in names)
    return f"{quote(into or model._meta.db_table)} ({columns})"


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
