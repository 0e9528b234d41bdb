"""One housekeeping process across all hosts of a database."""

import os
from pathlib import Path
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from meshmgmt.core import locks

# Any fixed number that nothing else in the database locks.
LOCK_KEY: Final = 0x6D657369


class Leadership:
    """Holds the lock that lets a process run the jobs, for as long as it can.

    PostgreSQL: an advisory lock of a session of its own, which ends with the process or
    its connection. SQLite lives on one host, where a locked file does.
    """

    def __init__(self, runtime_dir: Path) -> None:
        self._path = runtime_dir / "housekeeping.lock"
        self._descriptor: int | None = None
        self._session: Any = None

    def held(self) -> bool:
        """Take the lock, or make sure that it is still held."""
        if connections[DEFAULT_DB_ALIAS].vendor == "postgresql":
            return self._session_lock()
        return self._file_lock()

    def _file_lock(self) -> bool:
        if self._descriptor is not None:
            return True
        try:
            self._descriptor = locks.open_locked(self._path, wait=0)
        except locks.Locked:
            return False
        return True

    def _session_lock(self) -> bool:
        try:
            if self._session is not None and self._session.is_usable():
                return True
            self.release()
            # Not the connection of the jobs: Django closes that one when it is old, and
            # the lock would go with it.
            self._session = connections.create_connection(DEFAULT_DB_ALIAS)
            with self._session.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK_KEY])
                taken = bool(cursor.fetchone()[0])
        except (DatabaseError, InterfaceError):
            taken = False
        if not taken:
            self.release()
        return taken

    def release(self) -> None:
        """Let another process take over."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
