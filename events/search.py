"""The text that free-text search looks into, and lookups that Django does not have.

Answers are equal on every database and locale.
Letter case is removed here and never by the database: SQLite folds ASCII only, and what
PostgreSQL folds depends on its locale.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import orjson
from django.db.models import AutoField, Lookup, TextField
from django.db.models.lookups import In

from meshmgmt.core.queries import BATCH, fetched

SEPARATOR: Final = "\x1f"
"""Stands between the searched fields, so that no match runs over two of them."""

_LIKE_SPECIAL: Final = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})

SHORTEST_INDEXED: Final = 3
"""Trigram indexes cannot serve shorter search texts (in folded characters)."""

SHORT_SEARCH_ROWS: Final = 100_000
"""How many of the newest rows a shorter search looks into."""


def fold(text: str) -> str:
    """Return `text` as it is compared in searches: without letter case.

    Every character is folded by itself, so that a part of a text, folded, is a part of
    the folded text.
    """
    folded = text.lower() if text.isascii() else text.casefold()
    return folded.replace(SEPARATOR, " ")


def search_text(fields: Iterable[str]) -> str:
    """Return the searchable text of the given field values; empty ones are left out."""
    return SEPARATOR.join([fold(field) for field in fields if field])


@cache
def has_full_text(database: str, table: str) -> bool:
    """Tell whether `table` has a trigram index on the SQLite `database`.

    It is missing where the SQLite library had no FTS5 trigrams when the table was made.
    """
    named = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s"
    return bool(fetched(named, [f"{table}_fts"]))


@TextField.register_lookup
class Holds(Lookup):
    """`search__holds=text`: the column contains the text, taken literally.

    The caller folds both sides; nothing here depends on locale or letter case.
    """

    lookup_name = "holds"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """PostgreSQL: LIKE, which the trigram index serves."""
        lhs, params = self.process_lhs(compiler, connection)
        pattern = str(self.rhs).translate(_LIKE_SPECIAL)
        return f"{lhs} LIKE %s", (*params, f"%{pattern}%")

    def as_sqlite(
        self, compiler: Any, connection: Any, **context: Any
    ) -> tuple[str, tuple[Any, ...]]:
        """SQLite: the FTS5 table when it can serve the text, else a scan."""
        lhs, params = self.process_lhs(compiler, connection)
        text = str(self.rhs)
        column: Any = self.lhs
        table = column.target.model._meta.db_table
        if (
            column.target.name == "search"
            and len(text) >= SHORTEST_INDEXED
            and has_full_text(str(connection.settings_dict["NAME"]), table)
        ):
            phrase = '"' + text.replace('"', '""') + '"'
            found = f'SELECT rowid FROM "{table}_fts" WHERE "{table}_fts" MATCH %s'  # noqa: S608 - names from the model
            return f'"{column.alias}"."{_row_key(column)}" IN ({found})', (phrase,)
        return f"instr({lhs}, %s) > 0", (*params, text)


def _row_key(column: Any) -> str:
    """Return the integer key the full-text table refers to (`migrations/_streams.py`)."""
    key = column.target.model._meta.pk
    return str(key.column) if isinstance(key, AutoField) else "n"


@TextField.register_lookup
class Among(In):
    """`user_id__among=texts`: `in`, of any number of texts."""

    lookup_name = "among"

    def as_sqlite(
        self, compiler: Any, connection: Any, **context: Any
    ) -> tuple[str, tuple[Any, ...]]:
        """SQLite: many are one parameter, for it bounds their number."""
        if len(self.rhs) <= BATCH:
            return self.as_sql(compiler, connection)
        lhs, params = self.process_lhs(compiler, connection)
        found = f"{lhs} IN (SELECT value FROM json_each(%s))"  # noqa: S608 - Django's name
        return found, (*params, orjson.dumps(self.rhs).decode())
