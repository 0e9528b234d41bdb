"""Agents in tests: enrolled, followed, waited for."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from meshmgmt.control.agent import Agent as PlainAgent
from meshmgmt.control.agent import Follower, channel_to
from meshmgmt.control.protocol import flow_pb2, signalexchange_pb2
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol.flow_pb2_grpc import FlowServiceStub
from meshmgmt.control.protocol.signalexchange_pb2_grpc import SignalExchangeStub
from tests.control.deployment import Deployment
from tests.waiting import POLL_SECONDS

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


class Agent(PlainAgent):
    """An agent that also signals, reports and takes jobs."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self.signals: Any = SignalExchangeStub(self.channel)

    async def sync_meta(self, **meta: Any) -> None:
        """Report about the machine anew."""
        ParseDict(meta, self.meta)
        box = await self.server_box()
        request = pb.SyncMetaRequest(meta=self.meta)
        await self.management.SyncMeta(self.sealed(box, request))

    def job(self) -> Any:
        return self.management.Job()

    async def connect_signal(self) -> Any:
        """Open the signal stream and wait until it is registered."""
        metadata = (("x-wiretrustee-peer-id", self.public_key),)
        stream = self.signals.ConnectStream(metadata=metadata, wait_for_ready=True)
        header = dict(await stream.initial_metadata())
        if "x-wiretrustee-peer-registered" not in header:
            raise RuntimeError("the signal stream was not registered")
        return stream

    async def send_signal(self, receiver: str, body: bytes) -> None:
        """Send something to another agent, or to oneself."""
        message = signalexchange_pb2.EncryptedMessage(
            key=self.public_key, remoteKey=receiver, body=body
        )
        await self.signals.Send(message)

    async def report(
        self, config: pb.FlowConfig, events: Sequence[flow_pb2.FlowEvent]
    ) -> list[bytes]:
        """Report traffic; return the ids that were acknowledged, one for each event."""
        token = f"Bearer {config.tokenSignature}.{config.tokenPayload}"
        async with channel_to(config.url, self.roots) as channel:
            stub: Any = FlowServiceStub(channel)
            stream = stub.Events(
                metadata=(("authorization", token),), wait_for_ready=True
            )
            await stream.write(flow_pb2.FlowEvent(isInitiator=True))
            await stream.initial_metadata()
            for event in events:
                await stream.write(event)
            acknowledged = [(await stream.read()).event_id for _ in events]
            await stream.done_writing()
            return acknowledged


async def code_of(call: Awaitable[Any]) -> grpc.StatusCode:
    """Return the status with which a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    return refused.value.code()


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
    """Wait until `condition()`, or what it is awaited for, is true and return it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(POLL_SECONDS)


async def answered(call: Awaitable[Any]) -> bool:
    """Tell whether a call is answered, rather than refused."""
    try:
        await call
    except (grpc.aio.AioRpcError, RuntimeError):
        return False
    return True


def names(follower: Follower) -> set[str]:
    """Return the labels of the peers that an agent sees."""
    return {peer.fqdn.partition(".")[0] for peer in follower.map.remotePeers}
