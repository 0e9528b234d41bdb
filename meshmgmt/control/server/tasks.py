"""Coroutines side by side."""

import asyncio
from collections.abc import Coroutine
from typing import Any

Tasks = list["asyncio.Task[None]"]


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
