"""PostgreSQL as Django and django-prometheus have it, with the store's figures.

Connections notice when the database stops answering. The kernel of a host whose processes
hang acknowledges what is sent to it, so no setting of TCP ends the wait for an answer. Here
each wait has a deadline on this side.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import SimpleNamespace
from typing import Any, Final

import psycopg
from django.db.backends.postgresql.base import DatabaseWrapper as DjangoWrapper
from django_prometheus.db.backends.postgresql import base
from psycopg.abc import PQGen

from meshmgmt.core.locks import LOCK_SECONDS
from observability.database.timing import Timed, measuring

CHECK_SECONDS: Final = 5.0
"""In which a database that works answers `SELECT 1`, or a new connection."""
PAUSE_SECONDS: Final = 1.0
SILENT: Final = "the database does not answer"
KEEPALIVE: Final = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Seconds, and milliseconds: a host that vanished is noticed within a minute."""

LONGER_SECONDS: Final = 5.0
"""How much later than the database this side gives a statement up."""

SESSION: Final = (
    "SET jit = off;"
    # Whatever else a database or a role is set to: psycopg reads no dates of another
    # style, and writers would be broken off by each other.
    "SET datestyle = 'ISO, MDY';"
    "SET default_transaction_isolation = 'read committed';"
    f"SET lock_timeout = '{LOCK_SECONDS}s';"
    "SET idle_in_transaction_session_timeout = '60s';"
    # The database, too, notices within a minute that a host vanished: until then it
    # keeps the locks of its sessions, such as the one for housekeeping.
    "SET tcp_keepalives_idle = 30;"
    "SET tcp_keepalives_interval = 10;"
    "SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 60000"
)


class Silence:
    """Whether the database has stopped answering this process.

    While it has, one caller at a time finds out whether it answers again, and the others
    need not wait to learn that it does not.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._until: float | None = None

    def begin(self) -> None:
        """Note that an answer did not come."""
        with self._lock:
            self._until = time.monotonic() + PAUSE_SECONDS

    def end(self) -> None:
        """Note that an answer came."""
        self._until = None

    def check(self) -> None:
        """Let the caller connect. Raises OperationalError when it need not try."""
        with self._lock:
            now = time.monotonic()
            if self._until is None:
                return
            if now < self._until:
                raise psycopg.OperationalError(SILENT)
            # Who finds out now keeps the others from trying until it knows.
            self._until = now + CHECK_SECONDS


class Connection(psycopg.Connection[Any]):
    """Waits for each answer `patience` seconds at most; None: without end."""

    patience: float | None = None
    silence: Silence

    def wait(
        self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None
    ) -> Any:
        """Wait as psycopg does. Raises OperationalError, and closes, when it is over."""
        own = self.patience if timeout is None else None
        begun = time.monotonic()
        try:
            return super().wait(gen, interval, timeout if own is None else own)
        except psycopg.OperationalError as error:
            # What fails sooner is an answer.
            if own is None or time.monotonic() - begun < own or self.closed:
                raise
            self.pgconn.finish()
            self.silence.begin()
            raise psycopg.OperationalError(SILENT) from error


DRIVER: Final = SimpleNamespace(**{**vars(psycopg), "connect": Connection.connect})
"""psycopg as Django takes it, with connections of ours."""

_silences: Final[defaultdict[str, Silence]] = defaultdict(Silence)


class DatabaseWrapper(Timed, base.DatabaseWrapper):  # type: ignore[misc]
    Database = DRIVER

    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's parameters, with a cursor class that measures."""
        # Past django-prometheus, whose cursor class would measure once more.
        params = DjangoWrapper.get_connection_params(self)
        made = measuring(params["cursor_factory"], self.alias, self.vendor)
        waits = {"connect_timeout": int(CHECK_SECONDS)}
        return {**waits, **params, **KEEPALIVE, "cursor_factory": made}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect. Raises OperationalError, at once while the database is silent."""
        silence = _silences[self.alias]
        silence.check()
        try:
            made = super().get_new_connection(conn_params)
        except psycopg.errors.ConnectionTimeout:
            silence.begin()
            raise
        except psycopg.Error:
            silence.end()  # that was an answer
            raise
        made.silence = silence
        if seconds := self.settings_dict.get("STATEMENT_SECONDS"):
            made.patience = seconds + LONGER_SECONDS
        return made

    def is_usable(self) -> bool:
        """Tell whether the connection works, within seconds."""
        with self._impatient():
            return bool(super().is_usable())

    def init_connection_state(self) -> None:
        """Bound waiting, and switch JIT off: it takes longer per partition than it saves.

        By a statement, as Django sets the time zone: PgBouncer refuses start-up options.
        """
        with self._impatient():
            super().init_connection_state()
            with self.cursor() as cursor:
                cursor.execute(SESSION)
                if seconds := self.settings_dict.get("STATEMENT_SECONDS"):
                    cursor.execute(f"SET statement_timeout = '{seconds}s'")
        _silences[self.alias].end()

    @contextmanager
    def _impatient(self) -> Iterator[None]:
        connection: Any = self.connection
        # Statements of our own that are answered at once, or never.
        usual, connection.patience = connection.patience, CHECK_SECONDS
        try:
            yield
        finally:
            connection.patience = usual
