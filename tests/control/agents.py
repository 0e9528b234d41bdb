"""Agents in tests: enrolled, followed, waited for."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

from meshmgmt.control.agent import Agent, Follower
from tests.control.deployment import Deployment

PATIENCE = 30.0
# gRPC keeps a poller for the process, which complains about loops that are closed.
_LOOP = asyncio.new_event_loop()


def run(coroutine: Any) -> Any:
    """Run a test's coroutine, for a bounded time."""

    async def bounded() -> Any:
        async with asyncio.timeout(4 * PATIENCE):
            return await coroutine

    return _LOOP.run_until_complete(bounded())


def awaited(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of a coroutine, which gets fixtures and parameters as others do."""

    @wraps(test)
    def awaiting(**fixtures: Any) -> None:
        run(test(**fixtures))

    return awaiting


@asynccontextmanager
async def enrolled(
    deployment: Deployment, hostname: str, **meta: Any
) -> AsyncIterator[Agent]:
    """Yield an agent that was let in by a setup key."""
    async with Agent(deployment.url, hostname=hostname, **meta) as agent:
        await agent.login(deployment.setup_key())
        yield agent


@asynccontextmanager
async def followed(agent: Agent) -> AsyncIterator[Follower]:
    """Yield what an agent sees, from its first map on."""
    follower = Follower(agent)
    async with following(follower):
        yield follower


@asynccontextmanager
async def following(follower: Follower) -> AsyncIterator[None]:
    """Let an agent follow while a block runs, which begins with its first map."""
    task = asyncio.create_task(follower.run())
    try:
        await until(lambda: follower.maps)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Any) -> Any:
    """Wait until `condition()` is true and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.02)
    return value


def names(follower: Follower) -> set[str]:
    """Return the labels of the peers that an agent sees."""
    return {peer.fqdn.partition(".")[0] for peer in follower.map.remotePeers}
