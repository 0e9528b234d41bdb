"""Database wrapper parts that measure statements and transactions; the account's lock.

They stand in the wrapper itself, so every way of writing is measured: models, bulk
writes and raw SQL. The series of django-prometheus are fed too, from a cursor class made
once: its own makes a class for each cursor and looks up labels for each statement, which
cost more than a tenth of a request.
"""

from functools import cache
from time import perf_counter
from typing import Any, Final

from django_prometheus import db as django_prometheus_db

from observability.metrics import instruments

_TRANSACTIONS: Final = instruments.histogram("management.store.transaction.duration.ms")
_SAVES: Final = instruments.histogram("management.store.persistence.duration.micro")
_WAITED: Final = instruments.histogram(
    "management.store.global.lock.acquisition.duration.micro"
)
_HELD: Final = instruments.histogram(
    "management.store.global.lock.acquisition.duration.ms"
)
# Six letters of each, for as many are compared.
_SAVING: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE ", "TRUNCA"})
_WORD: Final = 6


def is_saving(sql: object) -> bool:
    if not isinstance(sql, str):
        sql = str(sql)  # psycopg composes some
    return sql.lstrip()[:_WORD].upper() in _SAVING


@cache
def measuring(cursor_class: type[Any], alias: str, vendor: str) -> type[Any]:
    """Return a cursor class that times and counts its statements."""
    labels = (alias, vendor)
    executed = django_prometheus_db.execute_total.labels(*labels)
    executed_many = django_prometheus_db.execute_many_total.labels(*labels)
    duration = django_prometheus_db.query_duration_seconds.labels(*labels)

    def observe(sql: object, seconds: float, count: int) -> None:
        executed.inc(count)
        duration.observe(seconds)
        if is_saving(sql):
            _SAVES.observe(seconds * 1_000_000)

    class MeasuringCursor(cursor_class):  # type: ignore[misc]
        """Observes each statement, failed ones included."""

        def execute(self, sql: Any, *args: Any, **kwargs: Any) -> Any:
            begun = perf_counter()
            try:
                return super().execute(sql, *args, **kwargs)
            except Exception as error:
                _failed(labels, error)
                raise
            finally:
                observe(sql, perf_counter() - begun, 1)

        def executemany(self, sql: Any, rows: Any, *args: Any, **kwargs: Any) -> Any:
            # They are counted, and an iterator would be used up by that.
            rows = list(rows)
            executed_many.inc(len(rows))
            begun = perf_counter()
            try:
                return super().executemany(sql, rows, *args, **kwargs)
            except Exception as error:
                _failed(labels, error)
                raise
            finally:
                observe(sql, perf_counter() - begun, len(rows))

    return MeasuringCursor


def _failed(labels: tuple[str, str], error: Exception) -> None:
    django_prometheus_db.errors_total.labels(*labels, type(error).__name__).inc()


class Timed:
    """Mix-in for a Django `DatabaseWrapper`; committed transactions are observed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._begun: float | None = None

    def set_autocommit(self, autocommit: bool, *args: Any, **kwargs: Any) -> None:
        """Begin (False) or have ended (True) the outermost transaction."""
        if not autocommit:
            self._begun = perf_counter()
        try:
            super().set_autocommit(autocommit, *args, **kwargs)  # type: ignore[misc]
        except BaseException:
            self._begun = None
            raise

    def commit(self) -> None:
        """Commit, and observe how long the transaction was open."""
        super().commit()  # type: ignore[misc]
        begun, self._begun = self._begun, None
        if begun is not None:
            _TRANSACTIONS.observe((perf_counter() - begun) * 1000)

    def rollback(self) -> None:
        """Roll back; what was not committed is not observed."""
        self._begun = None
        super().rollback()  # type: ignore[misc]


def lock_waited(seconds: float, **_: object) -> None:
    """Observe a wait for the account write lock, as its signal tells."""
    _WAITED.observe(seconds * 1_000_000)


def lock_held(seconds: float, **_: object) -> None:
    """Observe how long a write held it."""
    _HELD.observe(seconds * 1000)
