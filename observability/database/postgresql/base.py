"""PostgreSQL as Django and django-prometheus have it, with the store's figures."""

from typing import Any

from django.db.backends.postgresql.base import DatabaseWrapper as DjangoWrapper
from django_prometheus.db.backends.postgresql import base

from observability.database.timing import Timed, measuring


class DatabaseWrapper(Timed, base.DatabaseWrapper):  # type: ignore[misc]
    """Measures transactions and statements."""

    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's parameters, with a cursor class that measures."""
        # Past django-prometheus, whose cursor class would measure once more.
        params = DjangoWrapper.get_connection_params(self)
        made = measuring(params["cursor_factory"], self.alias, self.vendor)
        return {**params, "cursor_factory": made}

    def init_connection_state(self) -> None:
        """Switch JIT off: compiling for each partition takes longer than it saves.

        By a statement, as Django sets the time zone: PgBouncer refuses it as a start-up
        option.
        """
        super().init_connection_state()
        with self.cursor() as cursor:
            cursor.execute("SET jit = off")
