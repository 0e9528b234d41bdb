"""SQLite as Django and django-prometheus have it, with the store's figures."""

from typing import Any

from django_prometheus.db.backends.sqlite3 import base

from observability.database.timing import Timed, measuring


class DatabaseWrapper(Timed, base.DatabaseWrapper):  # type: ignore[misc]
    def create_cursor(self, name: str | None = None) -> Any:
        del name
        made = measuring(self.CURSOR_CLASS, self.alias, self.vendor)
        return self.connection.cursor(factory=made)
