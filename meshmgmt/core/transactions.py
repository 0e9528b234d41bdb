"""Transactions: the one account write lock, and reads that see one state.

Every audited write runs in `account_write()`: it begins a transaction, takes the lock, and
lets `write_ending` receivers (the audit trail) add their rows before the commit. Rules are
therefore checked against a state that nobody else changes, and audit ids grow in commit
order.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import local
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.dispatch import Signal

from meshmgmt.core import locks
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.locks import BUSY, LOCK_SECONDS, Lane
from meshmgmt.core.queries import execute, fetched

# Any fixed number will do, as long as nothing else in the database uses it.
LOCK_KEY: Final = 0x6D657368
_HOLDER: Final = """
    SELECT pid, xact_start FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND classid = 0 AND objid = %s AND granted
       AND datname = current_database()
"""
SHORT_PATIENCE: Final = 0.05
"""Seconds, for small writes on the way of a read, which must not wait for another's."""

MOST_CHANGES: Final = 5000
"""In one transaction of a request, so that nobody waits for longer than two seconds."""

LOCK_SUFFIX: Final = "-lock"
"""Ends the name of the lock file beside an SQLite database."""

writers: Final = Lane(patience=LOCK_SECONDS, grace=5.0)
"""Who writes or waits to write in this process."""

write_beginning: Final = Signal()
"""Sent inside the transaction, when the outermost `account_write()` has the lock."""

wholeness_asked: Final = Signal()
"""Sent before a write is cut into pieces; an answer that is true keeps it whole."""

write_ending: Final = Signal()
"""Sent inside the transaction, just before the outermost `account_write()` ends."""

lock_waited: Final = Signal()
"""Sent with `seconds`: how long the write lock was waited for."""

lock_held: Final = Signal()
"""Sent with `seconds`: how long the write lock was held, commit included."""


@dataclass(slots=True)
class JoinedWrite:
    """The one transaction of all account writes of a block; see `joined_write()`."""

    on_begin: Callable[[], None]
    on_end: Callable[[], None]
    on_piece: Callable[[], None] | None
    has_begun: bool = False
    inside: bool = False
    in_pieces: bool = False
    stack: ExitStack = field(default_factory=ExitStack)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Run one account write of the block; what it wrote goes if it raises."""
        with ExitStack() as piece:
            if self.in_pieces:
                assert self.on_piece is not None
                piece.enter_context(_whole_write())
                self.on_piece()
            elif not self.has_begun:
                self.stack.enter_context(_whole_write(self.on_end))
                self.has_begun = True
                self.on_begin()
            # What an earlier part loaded may have been rolled back with it.
            _writer.number = next(_numbers)
            self.inside = True
            try:
                with transaction.atomic():
                    yield
            finally:
                self.inside = False


class _Writer(local):
    """The write that this thread is in; `number` is 0 outside of one."""

    number = 0
    joined: JoinedWrite | None = None


_writer: Final = _Writer()
_numbers: Final = count(1)


def write_number() -> int:
    """Return a number that names the running account write, 0 outside of one."""
    return _writer.number


def account_write(*, savepoint: bool = True) -> AbstractContextManager[None]:
    """Run a block as one audited write transaction under the account write lock.

    May be nested: the inner block is a savepoint of the outer one, or with
    `savepoint=False`, which saves two statements, fails together with it.
    """
    joined = _writer.joined
    if joined is not None and not joined.inside:
        return joined.part()
    if _writer.number:
        return _nested_write(savepoint=savepoint)
    return _whole_write()


@contextmanager
def _nested_write(*, savepoint: bool) -> Iterator[None]:
    try:
        with transaction.atomic(savepoint=savepoint):
            yield
    except BaseException:
        # What objects know since they were saved in it is not so any more.
        _writer.number = next(_numbers)
        raise


def nothing() -> None:
    """Do nothing."""


@contextmanager
def joined_write(
    on_begin: Callable[[], None] = nothing,
    on_end: Callable[[], None] = nothing,
    on_piece: Callable[[], None] | None = None,
) -> Iterator[JoinedWrite]:
    """Run a block whose account writes are one transaction.

    It begins, with the lock, where the first of them does, so what is prepared before
    keeps nobody waiting, and commits when the block ends. `on_begin` is called under the
    lock; what it raises ends the block. `on_end` is called last, when the events of the
    writes are there. A write that fails undoes itself alone; if the block or `on_end`
    raises, nothing of it stays. With `on_piece`, a block may go `in_pieces()`.
    """
    joined = JoinedWrite(on_begin, on_end, on_piece)
    _writer.joined = joined
    try:
        with joined.stack:
            yield joined
    finally:
        _writer.joined = None


@contextmanager
def in_pieces(changes: int) -> Iterator[None]:
    """Commit each account write of a block by itself, so that others write in between.

    In a joined write `on_piece` is called first in each, and the joined transaction begins
    when all are done. Where that is not possible, so many changes may be too many: raises
    InvalidArgument.
    """
    joined = _writer.joined
    # What was begun whole ends whole.
    if joined is not None and (joined.inside or joined.has_begun):
        yield
        return
    whole = any(answer for _, answer in wholeness_asked.send(sender=None))
    if joined is None:
        with account_write() if whole else nullcontext():
            yield
        return
    if joined.on_piece is None:
        if changes > MOST_CHANGES:
            raise InvalidArgument(
                f"{changes} changes are too many for one transaction (at most"
                f" {MOST_CHANGES}): ask without dry_run, If-Match and X-Plan-Hash"
            )
        yield
        return
    if whole:
        yield
        return
    joined.in_pieces = True
    try:
        yield
    finally:
        joined.in_pieces = False
    # Begun now, if nothing else did: `on_begin` and `on_end` belong to every write.
    with joined.part():
        pass


@contextmanager
def _whole_write(on_end: Callable[[], None] = nothing) -> Iterator[None]:
    with _locked():
        _writer.number = next(_numbers)
        try:
            _begin()
            yield
            write_ending.send(sender=None)
            on_end()
        finally:
            _writer.number = 0


def _begin() -> None:
    """Let receivers write what belongs before the write itself."""
    joined = _writer.joined
    if joined is not None:
        # What receivers write is of this very write, and begins no part of its own.
        joined.inside = True
    try:
        write_beginning.send(sender=None)
    finally:
        if joined is not None:
            joined.inside = False


def queued_write() -> AbstractContextManager[None]:
    """Run a block as one write transaction that takes no account write lock.

    For rows that no rule reads, such as logs taken in. SQLite lets one writer in at a
    time whatever it writes, so there it queues with the others.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    # Inside a transaction the file is ours already.
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return transaction.atomic()
    return _sqlite_write()


@contextmanager
def _locked() -> Iterator[None]:
    asked = time.perf_counter()
    taken: float | None = None
    is_postgresql = connections[DEFAULT_DB_ALIAS].vendor == "postgresql"
    try:
        with _postgresql_write() if is_postgresql else queued_write():
            taken = time.perf_counter()
            lock_waited.send(sender=None, seconds=taken - asked)
            yield
    finally:
        if taken is not None:
            lock_held.send(sender=None, seconds=time.perf_counter() - taken)


@contextmanager
def _postgresql_write() -> Iterator[None]:
    """Wait for the lock; one thread of the process does so in the database."""
    if connections[DEFAULT_DB_ALIAS].in_atomic_block:
        with _advisory_lock(LOCK_SECONDS):
            yield
        return
    with writers.turn(OperationalError(BUSY), _holder) as left, _advisory_lock(left):
        writers.moved()
        yield


@contextmanager
def _advisory_lock(patience: float) -> Iterator[None]:
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        has_waited = patience < LOCK_SECONDS - 1  # not as long again
        if has_waited:
            milliseconds = math.ceil(patience * 1000) or 1
            cursor.execute(f"SET LOCAL lock_timeout = {milliseconds}")
        # Of the transaction: PgBouncer lends the session to others when it ends.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
        if has_waited:
            # Or a row that another has for a moment would end the write.
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        yield


def _holder() -> object:
    """Return which transaction holds the lock; another one means that it moves."""
    return next(iter(fetched(_HOLDER, [LOCK_KEY])), None)


@contextmanager
def _sqlite_write() -> Iterator[None]:
    """Queue for the file; BEGIN IMMEDIATE (settings) is the lock."""
    path = f"{connections[DEFAULT_DB_ALIAS].settings_dict['NAME']}{LOCK_SUFFIX}"
    sign = partial(locks.last_taken, path)
    with writers.turn(OperationalError(BUSY), sign) as patience:
        deadline = time.monotonic() + patience
        with _queued(path, patience), ExitStack() as stack:
            left = deadline - time.monotonic()
            if left < LOCK_SECONDS - 1:  # it has waited: not as long again
                stack.enter_context(sqlite_patience(left))
            with transaction.atomic():
                writers.moved()
                yield


@contextmanager
def _queued(path: str, patience: float) -> Iterator[None]:
    """Let one process at a time write to an SQLite file.

    SQLite has those who wait ask again, ever less often: with several the file is idle
    much of the time, and the unlucky wait for long. Who queues not is safe all the same.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.queued(path, patience))
        except locks.Locked:
            raise OperationalError(BUSY) from None
        except OSError as error:
            text = f"{path} cannot be written: {error.strerror}"
            raise OperationalError(text) from error
        yield


@contextmanager
def sqlite_patience(seconds: float) -> Iterator[None]:
    """Wait for SQLite's write lock this long in a block; PostgreSQL locks no file."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    [(usual,)] = fetched("PRAGMA busy_timeout")
    execute(f"PRAGMA busy_timeout = {max(0, round(seconds * 1000))}")
    try:
        yield
    finally:
        execute(f"PRAGMA busy_timeout = {usual}")


@contextmanager
def read_snapshot(*, temporary: bool = False) -> Iterator[None]:
    """Run a block of queries that all see one state of the database; no writes.

    SQLite: a deferred transaction, so readers do not queue for the write lock.
    PostgreSQL: REPEATABLE READ, READ ONLY. Inside a transaction the block joins it.
    `temporary` tables may be made in it.
    """
    connection: Any = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "postgresql":
        with transaction.atomic():
            mode = "" if temporary else ", READ ONLY"
            # Before any query, or PostgreSQL refuses.
            execute(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ{mode}")
            yield
        return
    # First of all: connecting sets the mode to that of the settings.
    connection.ensure_connection()
    mode = connection.transaction_mode
    # The settings say IMMEDIATE, which is for writers.
    connection.transaction_mode = "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        connection.transaction_mode = mode
