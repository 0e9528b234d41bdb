"""Places for so many at once, which the slow ones give up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

SLOW_SECONDS: Final = 1.0
"""A peer that takes longer for a message lets the others pass."""


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
    """Taken in the order of asking."""

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
