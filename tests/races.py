"""Calls that race: real threads, each with its own connection to the database."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from threading import Barrier, Event, Semaphore, Thread
from typing import Any, TypeVar

from django.db import connections

from meshmgmt.core.transactions import account_write
from tests.api_client import Answer, Api

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


def sent_at_once(api: Api, *requests: tuple[str, str, Any]) -> list[Answer]:
    """Send all requests at the same moment, each from a client of its own."""
    return race([partial(Api(api.token).call, *request) for request in requests])


@contextmanager
def going_on(*deeds: Callable[[int], object]) -> Iterator[Semaphore]:
    """Do each deed, told how often it was done, again and again beside a block.

    Yields what is released after each; tells at the end what went wrong with any.
    """
    ended, done = Event(), Semaphore(0)
    errors: list[Exception] = []

    def repeat(deed: Callable[[int], object]) -> None:
        try:
            for number in count():
                if ended.is_set():
                    return
                deed(number)
                done.release()
        except Exception as error:
            errors.append(error)
            done.release(999)  # who waits for more goes on
        finally:
            connections.close_all()

    threads = [Thread(target=repeat, args=[deed]) for deed in deeds]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not errors, errors


@contextmanager
def at_work(over: Event, *works: Callable[[], object]) -> Iterator[None]:
    """Have each work in a thread of its own beside a block, until they see it is over."""
    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(work) for work in works]
        try:
            yield
        finally:
            over.set()
        for each in running:
            each.result()


def lock_held_elsewhere() -> AbstractContextManager[None]:
    """Hold the lock in another thread for the time of a block."""
    return held_elsewhere(account_write())


@contextmanager
def held_elsewhere(turn: AbstractContextManager[object]) -> Iterator[None]:
    """Have another thread enter something, and leave it after a block."""
    held, leave = Event(), Event()

    def hold() -> None:
        try:
            with turn:
                held.set()
                leave.wait(60)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        try:
            assert held.wait(60)
            yield
        finally:
            leave.set()
        holding.result()
