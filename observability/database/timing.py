"""Database wrapper parts that measure transactions and saving statements.

They stand in the wrapper itself, so every way of writing is measured: models, bulk
writes and raw SQL.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from observability import metrics

_TRANSACTIONS: Final = metrics.histogram("management.store.transaction.duration.ms")
_SAVES: Final = metrics.histogram("management.store.persistence.duration.micro")
_SAVING: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCA"})
_WORD: Final = 6


def time_saves(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
) -> Any:
    """Run one statement; observe how long it took when it saves or deletes."""
    if str(sql).lstrip()[:_WORD].upper() not in _SAVING:
        return execute(sql, params, many, context)
    begun = perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        _SAVES.observe((perf_counter() - begun) * 1_000_000)


class Timed:
    """Mix-in for a Django `DatabaseWrapper`; committed transactions are observed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._begun: float | None = None
        self.execute_wrappers.append(time_saves)  # type: ignore[attr-defined]

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
