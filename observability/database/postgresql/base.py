"""PostgreSQL as Django and django-prometheus have it, with the store's figures."""

from typing import Any, Final

from django.db.backends.postgresql.base import DatabaseWrapper as DjangoWrapper
from django_prometheus.db.backends.postgresql import base

from meshmgmt.core.lane import LOCK_SECONDS
from observability.database.timing import Timed, measuring

KEEPALIVE: Final = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Seconds, and milliseconds: a host that vanished is noticed within a minute."""

SESSION: Final = (
    "SET jit = off;"
    f"SET lock_timeout = '{LOCK_SECONDS}s';"
    "SET idle_in_transaction_session_timeout = '60s';"
    # The database, too, notices within a minute that a host vanished: until then it
    # keeps the locks of its sessions, such as the one for housekeeping.
    "SET tcp_keepalives_idle = 30;"
    "SET tcp_keepalives_interval = 10;"
    "SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 60000"
)


class DatabaseWrapper(Timed, base.DatabaseWrapper):  # type: ignore[misc]
    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's parameters, with a cursor class that measures."""
        # Past django-prometheus, whose cursor class would measure once more.
        params = DjangoWrapper.get_connection_params(self)
        made = measuring(params["cursor_factory"], self.alias, self.vendor)
        return {**params, **KEEPALIVE, "cursor_factory": made}

    def init_connection_state(self) -> None:
        """Bound waiting, and switch JIT off: it takes longer per partition than it saves.

        By a statement, as Django sets the time zone: PgBouncer refuses start-up options.
        """
        super().init_connection_state()
        with self.cursor() as cursor:
            cursor.execute(SESSION)
            if seconds := self.settings_dict.get("STATEMENT_SECONDS"):
                cursor.execute(f"SET statement_timeout = '{seconds}s'")
