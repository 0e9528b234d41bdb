"""Traffic of agents and access logs of proxies, over real sockets."""

import asyncio
import os
import signal
from typing import Any

import grpc
import pytest

from meshmgmt.control.agent import channel_to
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol import proxy_pb2
from meshmgmt.control.protocol.flow_pb2_grpc import FlowServiceStub
from meshmgmt.control.protocol.proxy_pb2_grpc import ProxyServiceStub
from tests.control.agents import Agent, awaited, code_of, enrolled, until
from tests.control.deployment import Deployment
from tests.control.test_flows import flow
from tests.control.test_proxies import log

CODE = grpc.StatusCode


def bearer(token: str) -> tuple[tuple[str, str]]:
    return (("authorization", f"Bearer {token}"),)


def event(**fields: Any) -> Any:
    return flow(public_key=os.urandom(32), fields=fields)


async def flow_config(agent: Agent) -> pb.FlowConfig:
    return (await anext(agent.sync())).netbirdConfig.flow


def stored(deployment: Deployment, reporter: str) -> list[dict[str, Any]]:
    page = deployment.api("GET", f"/events/network-traffic?reporter_id={reporter}")
    return list(page["data"])


@awaited
async def test_reported_traffic_is_acknowledged_and_readable(deployment: Deployment):
    async with enrolled(deployment, "reporter") as agent:
        config = await flow_config(agent)
        assert config.enabled
        assert config.interval.seconds == 2
        events = [event() for _ in range(30)]
        acknowledged = await agent.report(config, events)
        assert sorted(acknowledged) == sorted(e.event_id for e in events)
        peer = deployment.peer("reporter")
        assert len(stored(deployment, peer["id"])) == 30
        await agent.report(config, events)  # a resend stores nothing twice
        assert len(stored(deployment, peer["id"])) == 30


@awaited
async def test_numbers_that_nobody_counts_to_are_acknowledged(deployment: Deployment):
    async with enrolled(deployment, "boaster") as agent:
        config = await flow_config(agent)
        too_many = [event(rx_bytes=10**19), event(protocol=2**31)]
        assert len(await agent.report(config, too_many)) == 2


@awaited
async def test_an_event_longer_than_any_is_refused(deployment: Deployment):
    async with enrolled(deployment, "endless") as agent:
        config = await flow_config(agent)
        reported = agent.report(config, [event(rule_id=bytes(2**15))])
        assert await code_of(reported) is CODE.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "token", ["", "Bearer x", "Bearer a.b", "Bearer é.é", "Basic abc"]
)
@awaited
async def test_a_stranger_reports_nothing(deployment: Deployment, token: str):
    async with channel_to(deployment.url) as channel:
        metadata = (("authorization", token),) if token.isascii() else ()
        # Nothing is written: a write fails otherwise where the refusal is faster.
        stream = FlowServiceStub(channel).Events(metadata=metadata)
        assert await code_of(stream.read()) is CODE.UNAUTHENTICATED


@awaited
async def test_a_peer_is_told_when_it_is_to_report_no_more(deployment: Deployment):
    async with enrolled(deployment, "silenced") as agent:
        messages = agent.sync()
        assert (await anext(messages)).netbirdConfig.flow.enabled
        [account] = deployment.api("GET", "/accounts")
        before = account["settings"]
        for enabled in (False, True):
            extra = {**before["extra"], "network_traffic_logs_enabled": enabled}
            settings = {**before, "extra": extra}
            path = f"/accounts/{account['id']}"
            await asyncio.to_thread(deployment.api, "PUT", path, {"settings": settings})
            async for message in messages:
                if message.HasField("netbirdConfig"):
                    break
            assert message.netbirdConfig.flow.enabled is enabled
            assert message.netbirdConfig.flow.interval.seconds == 2
            assert message.netbirdConfig.HasField("signal")
            assert not message.HasField("NetworkMap")


@awaited
async def test_no_acknowledged_event_is_lost_by_a_kill(upset: Deployment):
    async with enrolled(upset, "killed") as agent:
        config = await flow_config(agent)
        acknowledged: list[bytes] = []
        reporting = asyncio.create_task(_report_on(config, acknowledged))
        await until(lambda: len(acknowledged) > 50)
        await asyncio.to_thread(upset.stop, signal.SIGKILL)
        with pytest.raises(grpc.aio.AioRpcError):
            await reporting
    peer = upset.peer("killed")
    path = f"/events/network-traffic?reporter_id={peer['id']}&page_size=50000"
    assert upset.api("GET", path)["total_records"] >= len(acknowledged)


async def _report_on(config: pb.FlowConfig, acknowledged: list[bytes]) -> None:
    """Report without end, and note what was acknowledged."""
    token = f"{config.tokenSignature}.{config.tokenPayload}"
    async with channel_to(config.url) as channel:
        stream = FlowServiceStub(channel).Events(metadata=bearer(token))
        await stream.initial_metadata()
        while True:
            for _ in range(10):
                await stream.write(event())
            for _ in range(10):
                answer = await stream.read()
                if answer is grpc.aio.EOF:
                    raise AssertionError("the stream ended in order")
                acknowledged.append(answer.event_id)


@pytest.fixture(scope="module")
def edge(deployment: Deployment) -> tuple[tuple[str, str]]:
    """Return how a proxy says who it is."""
    made = deployment.server.manage("proxy_tokens", "create", "edge")
    return bearer(made.strip())


@awaited
async def test_access_logs_of_a_proxy_are_stored(deployment: Deployment, edge):
    async with channel_to(deployment.url) as channel:
        entry = proxy_pb2.SendAccessLogRequest(log=log(host="shop.test", path="/cart"))
        await ProxyServiceStub(channel).SendAccessLog(entry, metadata=edge)
        page = deployment.api("GET", "/events/proxy?host=shop.test")
        assert [entry["path"] for entry in page["data"]] == ["/cart"]


@awaited
async def test_a_proxy_is_told_that_there_are_no_mappings(deployment: Deployment, edge):
    async with channel_to(deployment.url) as channel:
        stub = ProxyServiceStub(channel)
        stream = stub.SyncMappings(metadata=edge)
        init = proxy_pb2.SyncMappingsInit(proxy_id="edge")
        await stream.write(proxy_pb2.SyncMappingsRequest(init=init))
        first = await stream.read()
        assert first.initial_sync_complete
        assert len(first.mapping) == 0
        ack = proxy_pb2.SyncMappingsAck()
        await stream.write(proxy_pb2.SyncMappingsRequest(ack=ack))
        asked = proxy_pb2.GetMappingUpdateRequest()
        older = stub.GetMappingUpdate(asked, metadata=edge)
        assert (await older.read()).initial_sync_complete
        assert not stream.done()


@awaited
async def test_wrong_tokens_of_a_proxy_are_bounded(upset: Deployment):
    codes = await wrong_tokens(upset, 12)
    assert codes == [CODE.UNAUTHENTICATED] * 5 + [CODE.RESOURCE_EXHAUSTED] * 7
    await asyncio.to_thread(upset.stop, signal.SIGKILL)
    await asyncio.to_thread(upset.start)
    upset.usual = False  # it is about to refuse all tokens from here
    # The database remembers, whichever process is asked.
    assert await wrong_tokens(upset, 2) == [CODE.RESOURCE_EXHAUSTED] * 2


async def wrong_tokens(deployment: Deployment, tries: int) -> list[grpc.StatusCode]:
    wrong, entry = bearer("nbx_wrong"), proxy_pb2.SendAccessLogRequest()
    async with channel_to(deployment.url) as channel:
        send = ProxyServiceStub(channel).SendAccessLog
        return [await code_of(send(entry, metadata=wrong)) for _ in range(tries)]
