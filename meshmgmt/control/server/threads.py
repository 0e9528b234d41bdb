"""Synchronous work off the event loop: bounded, with the caller's facts, connections kept.

A caller who gives up while waiting leaves its place to the next one.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, ParamSpec, TypeVar

from django.db import close_old_connections

from meshmgmt.control.services.refusals import Busy
from meshmgmt.core import context

_P = ParamSpec("_P")
_Q = TypeVar("_Q")
_R = TypeVar("_R")
MOST_WAITING: Final = 1000


class Threads:
    """A few threads, each with a database connection of its own."""

    def __init__(self, number: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(number, thread_name_prefix=name)
        self._places = asyncio.Semaphore(number)
        self._waiting = 0

    async def run(
        self, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> _R:
        """Return what `work` returns. Raises Busy when too many wait already."""
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        try:
            # Here and not in the executor's queue, which nobody who gives up can leave.
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            call = functools.partial(work, *args, **kwargs)
            return await asyncio.get_running_loop().run_in_executor(
                # The task's context does not follow into a thread by itself.
                self._executor,
                contextvars.copy_context().run,
                _connected,
                call,
            )
        finally:
            self._places.release()

    def close(self) -> None:
        """End the threads once they are done."""
        self._executor.shutdown(wait=True)


class Batches(Generic[_Q, _R]):
    """Work on many things at once: those that came while others were worked on.

    In the order in which they came, also from one batch to the next.
    `work` takes a list and returns for each element its result, or what went wrong.
    """

    def __init__(
        self, threads: Threads, work: Callable[[list[_Q]], list[_R | Exception]]
    ) -> None:
        self._threads = threads
        self._work = work
        self._waiting: list[tuple[_Q, asyncio.Future[_R]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def one(self, wanted: _Q) -> _R:
        """Return the result for one element. Raises what went wrong with it."""
        mine: asyncio.Future[_R] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, mine))
        if self._worker is None or self._worker.done():
            # In a context of nobody's: what is logged is not all of the first caller's.
            nobody = contextvars.Context()
            self._worker = asyncio.create_task(self._run(), context=nobody)
        return await mine

    async def _run(self) -> None:
        """Work until nothing waits; who gave up meanwhile is passed over."""
        while self._waiting:
            # Who comes from here on is in the next batch.
            batch, self._waiting = self._waiting, []
            results: list[_R | Exception]
            try:
                results = await self._threads.run(self._work, [q for q, _ in batch])
            except Exception as error:
                results = [error] * len(batch)
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)


def _connected(call: Callable[[], _R]) -> _R:
    close_old_connections()
    try:
        # What machines do is refused by no promise, but looked after by housekeeping.
        with context.scope(unattended=True):
            return call()
    finally:
        close_old_connections()
