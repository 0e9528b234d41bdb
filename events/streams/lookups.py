"""Substring search that each database's trigram index serves."""

from functools import cache
from typing import Any, Final

from django.db import connection
from django.db.models import AutoField, Lookup, TextField

from events.streams.search import SHORTEST_INDEXED

_LIKE_SPECIAL: Final = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})


@cache
def has_full_text(database: str, table: str) -> bool:
    """Tell whether `table` has a trigram index on the SQLite `database`.

    It is missing where the SQLite library had no FTS5 trigrams when the table was made.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = %s",
            [f"{table}_fts"],
        )
        return cursor.fetchone() is not None


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
    """Return the integer key the full-text table refers to (migrations 0002, 0003)."""
    key = column.target.model._meta.pk
    return str(key.column) if isinstance(key, AutoField) else "n"
