"""Coroutines side by side, and so many at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

Tasks = list["asyncio.Task[None]"]

SLOW_SECONDS: Final = 1.0
"""A peer that takes longer for a message lets the others pass."""


def begun(*coroutines: Coroutine[Any, Any, None]) -> Tasks:
    return [asyncio.create_task(coroutine) for coroutine in coroutines]


async def first_of(*waited: Any) -> None:
    """Wait until one is over; raise what it failed with.

    Tasks given go on; coroutines are cancelled.
    """
    tasks = {asyncio.ensure_future(one) for one in waited}
    own = tasks.difference(waited)
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)


class Place:
    """One of the places, until it is left."""

    __slots__ = ("_leave", "_timer")

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave: Callable[[], None] | None = leave
        self._timer: asyncio.TimerHandle | None = None

    def leave_soon(self) -> None:
        """Leave by itself after a second."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(SLOW_SECONDS, self.leave)

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._leave is not None:
            self._leave()
            self._leave = None


class Places:
    """Places for so many at once, taken in the order of asking."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Place]:
        """Take a place for the time of the block, or for less."""
        await self._free.acquire()
        place = Place(self._free.release)
        try:
            yield place
        finally:
            place.leave()
