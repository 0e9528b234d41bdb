"""Who may read the figures on the API's port, told in time whatever the database does."""

import contextvars
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
)

from meshmgmt.core.queries import execute

PATIENCE_SECONDS: Final = 0.3
"""For the answer, and once more to find out why there is none."""

AT_ONCE: Final = 4
REMEMBERED_SECONDS: Final = 3600.0
MOST: Final = 100
SILENT: Final = "the database does not answer"
BUSY: Final = "others are being let in: try again"


T = TypeVar("T")


def ask_database() -> None:
    """Ask for nothing. Raises DatabaseError or InterfaceError."""
    try:
        execute("SELECT 1")
    finally:
        connection.close()


class Readers:
    """Asks in threads of its own, so that a scrape never hangs with the database.

    While the database does not answer, credentials that it let in within the last hour
    are good enough. Kept as hashes, by this process alone. `probe` asks the database
    something: an answer that takes long may be an identity provider's.
    """

    def __init__(self, probe: Callable[[], object] = ask_database) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="readers")
        self._places = threading.BoundedSemaphore(AT_ONCE)
        # Apart: all threads of the other pool may be waiting for the database.
        self._prober = ThreadPoolExecutor(1, thread_name_prefix="readers-probe")
        self._probe = probe
        self._probing: Future[object] | None = None
        self._known: OrderedDict[bytes, float] = OrderedDict()

    def allows(self, credentials: str, ask: Callable[[], bool]) -> bool:
        """Return what `ask` says. Raises OperationalError when nobody knows."""
        key = hashlib.sha256(credentials.encode("utf-8", "replace")).digest()
        try:
            allowed = self._asked(ask)
        except (TimeoutError, DatabaseError, InterfaceError) as error:
            if isinstance(error, TimeoutError) and self._database_answers():
                raise OperationalError(BUSY) from error
            until = self._known.get(key, 0.0)
            if time.monotonic() < until:
                return True
            raise OperationalError(SILENT) from error
        self._remember(key, allowed=allowed)
        return allowed

    def _asked(self, ask: Callable[[], bool]) -> bool:
        """Return the answer. Raises TimeoutError, also while another is waited for."""
        begun = time.monotonic()
        if not self._places.acquire(timeout=PATIENCE_SECONDS):
            raise TimeoutError
        # A copy of the context: who asks must be known in the other thread, too.
        future = self._pool.submit(contextvars.copy_context().run, _connected, ask)
        future.add_done_callback(lambda _: self._places.release())
        return future.result(max(0.0, begun + PATIENCE_SECONDS - time.monotonic()))

    def _database_answers(self) -> bool:
        probing = self._probing
        if probing is None or probing.done():
            probing = self._probing = self._prober.submit(_connected, self._probe)
        try:
            probing.result(PATIENCE_SECONDS)
        except (TimeoutError, DatabaseError, InterfaceError):
            return False
        return True

    def _remember(self, key: bytes, *, allowed: bool) -> None:
        self._known.pop(key, None)
        if allowed:
            self._known[key] = time.monotonic() + REMEMBERED_SECONDS
        # The one that was let in the longest ago goes.
        if len(self._known) > MOST:
            self._known.popitem(last=False)


def _connected(ask: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return ask()
    finally:
        close_old_connections()
