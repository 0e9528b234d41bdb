"""Stores what was taken in and notes how far that was, whatever the database does."""

import time
from collections.abc import Callable
from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from events.tailing.checkpoint import Checkpoint
from events.tailing.intake import Intake
from events.tailing.lines import Mark

RETRY_SECONDS: Final = 1.0
SAVE_SECONDS: Final = 1.0
"""How often the checkpoint is written: reading more again after a crash does no harm."""

_LASTING: Final = ("no such table", "no such column", "has no column")
"""What SQLite reports as an OperationalError though waiting would not help."""


class StorageFault(Exception):
    """Lines cannot be stored, or the checkpoint cannot be written; says why."""


class Storage:
    """Empties an intake into the database.

    `mark` tells how far the log was read, None for a pipe. With `patient` a database that
    is away or busy is waited for until `stopped`.
    """

    def __init__(
        self,
        intake: Intake,
        checkpoint: Checkpoint | None,
        *,
        mark: Callable[[], Mark] | None,
        patient: bool,
        stopped: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        self._intake = intake
        self._checkpoint = checkpoint
        self._mark = mark
        self._patient = patient
        self._stopped = stopped
        self._say = say
        self._saved_at = 0.0

    def store(self, *, last: bool = False) -> None:
        """Store what waits and note how far that is. Raises StorageFault."""
        self._store()
        due = last or time.monotonic() - self._saved_at >= SAVE_SECONDS
        if self._checkpoint is None or self._mark is None or not due:
            return
        reached = self._mark()
        if reached == self._checkpoint.mark:
            return
        try:
            self._checkpoint.save(reached, self._intake.ids.state())
        except OSError as error:
            raise StorageFault(
                f"the checkpoint {self._checkpoint.path} cannot be written:"
                f" {error.strerror}"
            ) from error
        self._saved_at = time.monotonic()

    def _store(self) -> None:
        told = False
        while True:
            try:
                self._intake.store()
            except DatabaseError as error:
                self._require_hope(error)
                if not told:
                    self._say(
                        f"the database cannot be written ({_line(error)}): waiting"
                    )
                    told = True
            else:
                if told:
                    self._say("the database can be written again")
                return
            connection.close()
            self._wait()

    def _require_hope(self, error: DatabaseError) -> None:
        passing = isinstance(error, OperationalError | InterfaceError)
        lasting = any(text in str(error) for text in _LASTING)
        if self._patient and passing and not lasting and not self._stopped():
            return
        raise StorageFault(
            f"the last {self._intake.waiting} lines are not stored: {_line(error)}"
        ) from error

    def _wait(self) -> None:
        end = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < end and not self._stopped():
            time.sleep(RETRY_SECONDS / 10)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
