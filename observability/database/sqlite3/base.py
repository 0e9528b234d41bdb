"""SQLite as Django and django-prometheus have it, with the store's figures.

Its LIKE knows the letter case of ASCII alone. Here, as on PostgreSQL, `icontains` minds
that of no letter.
"""

from typing import Any

from django_prometheus.db.backends.sqlite3 import base

from observability.database.timing import Timed, measuring


def _lowered(text: Any) -> str | None:
    return None if text is None else str(text).lower()


class Operations(base.DatabaseWrapper.ops_class):  # type: ignore[misc]
    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        if lookup_type == "icontains":
            return "LOWERED(%s)"
        return str(super().lookup_cast(lookup_type, internal_type))


class DatabaseWrapper(Timed, base.DatabaseWrapper):  # type: ignore[misc]
    ops_class = Operations
    operators = {
        **base.DatabaseWrapper.operators,
        "icontains": r"LIKE LOWERED(%s) ESCAPE '\'",
    }

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect, and teach SQLite the case of all letters."""
        made = super().get_new_connection(conn_params)
        made.create_function("LOWERED", 1, _lowered, deterministic=True)
        return made

    def create_cursor(self, name: str | None = None) -> Any:
        made = measuring(self.CURSOR_CLASS, self.alias, self.vendor)
        return self.connection.cursor(factory=made)
