"""Connections that notice when the database stops answering.

The kernel of a host whose processes hang acknowledges what is sent to it, so no setting of
TCP ends the wait for an answer. Here each wait has a deadline on this side.
"""

import time
from threading import Lock
from typing import Any, Final

import psycopg
from psycopg.abc import PQGen

CHECK_SECONDS: Final = 5.0
"""In which a database that works answers `SELECT 1`, or a new connection."""
PAUSE_SECONDS: Final = 1.0
SILENT: Final = "the database does not answer"


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
