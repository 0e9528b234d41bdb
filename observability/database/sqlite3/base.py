"""Database backend of Django and django-prometheus, with the store's figures."""

from django_prometheus.db.backends.sqlite3 import base

from observability.database.timing import Timed


class DatabaseWrapper(Timed, base.DatabaseWrapper):  # type: ignore[misc]
    """Measures transactions and saving statements."""
