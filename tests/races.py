"""Calls that race: real threads, each with its own connection to the database."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event, Thread
from typing import TypeVar

from django.db import connections

from meshmgmt.core.transactions import account_write

T = TypeVar("T")


def race(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Start all calls at the same moment and return their answers."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        try:
            barrier.wait(timeout=20)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@contextmanager
def lock_held_elsewhere() -> Iterator[None]:
    """Hold the lock in another thread for the time of a block."""
    held, leave = Event(), Event()

    def hold() -> None:
        try:
            with account_write():
                held.set()
                leave.wait(60)
        finally:
            connections.close_all()

    thread = Thread(target=hold)
    thread.start()
    try:
        assert held.wait(60)
        yield
    finally:
        leave.set()
        thread.join()
