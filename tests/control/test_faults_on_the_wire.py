"""What broken, hostile and stuck clients get, and what the others notice of it."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
from nacl.public import Box, PrivateKey

from meshmgmt.control.agent import channel_to
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol import signalexchange_pb2
from meshmgmt.control.protocol.management_pb2_grpc import ManagementServiceStub
from meshmgmt.serving.management.commands import serve
from tests import waiting
from tests.control.agents import (
    Agent,
    awaited,
    code_of,
    enrolled,
    followed,
    names,
    run,
    until,
)
from tests.control.deployment import Deployment, not_served
from tests.servers import Server, free_port

CODE = grpc.StatusCode
FLOOD = 300
CONNECTIONS = 4
"""Each takes a hundred calls at a time."""
WRONG = "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA"
RPC = "/management.ManagementService/"
SIGNAL = "/signalexchange.SignalExchange/"


async def login_with(agent: Agent, envelope: pb.EncryptedMessage) -> grpc.StatusCode:
    return await code_of(agent.management.Login(envelope))


def sealed(**facts: Any) -> Callable[[Agent, Box], pb.EncryptedMessage]:
    """Return what seals a login with these facts besides the usual ones."""

    def envelope(agent: Agent, box: Box) -> pb.EncryptedMessage:
        request = pb.LoginRequest(meta=agent.meta)
        request.MergeFrom(pb.LoginRequest(**facts))
        return agent.sealed(box, request)

    return envelope


def enveloped(key: str, body: bytes = b"x" * 60) -> pb.EncryptedMessage:
    return pb.EncryptedMessage(wgPubKey=key, body=body)


ENVELOPES: dict[str, Callable[[Agent, Box], pb.EncryptedMessage]] = {
    "empty": lambda *_: pb.EncryptedMessage(),
    "no base64": lambda *_: enveloped("nonsense"),
    "weak key": lambda *_: enveloped("A" * 43 + "="),
    "short key": lambda *_: enveloped("A" * 40),
    "no message inside": lambda agent, box: enveloped(
        agent.public_key, box.encrypt(b"\xff" * 50)
    ),
    "256 KiB": sealed(jwtToken="x" * 2**18),
    "one long list": sealed(dnsLabels=["x"] * 1001),
    "lists long together": sealed(
        dnsLabels=["x"] * 600,
        meta={"networkAddresses": [{"netIP": "10.0.0.1/32"}] * 600},
    ),
    "17 MiB": lambda agent, _: enveloped(agent.public_key, bytes(17 * 2**20)),
    "no meta": lambda agent, box: agent.sealed(box, pb.LoginRequest()),
}
CODES = {"17 MiB": CODE.RESOURCE_EXHAUSTED, "no meta": CODE.FAILED_PRECONDITION}


@pytest.mark.parametrize("name", ENVELOPES)
@awaited
async def test_a_wrong_login_is_refused_and_the_connection_lives(
    deployment: Deployment, name: str
):
    async with Agent(deployment.url) as agent:
        envelope = ENVELOPES[name](agent, await agent.server_box())
        code = await login_with(agent, envelope)
        assert code is CODES.get(name, CODE.INVALID_ARGUMENT)
        await agent.management.isHealthy(pb.Empty())


@awaited
async def test_a_message_sealed_by_another_key_is_an_invalid_argument(
    deployment: Deployment,
):
    async with enrolled(deployment, "victim") as victim, Agent(deployment.url) as thief:
        box = await thief.server_box()
        envelope = thief.sealed(box, pb.LoginRequest(meta=thief.meta))
        envelope.wgPubKey = victim.public_key
        assert await login_with(thief, envelope) is CODE.INVALID_ARGUMENT


@awaited
async def test_a_second_spelling_of_a_key_is_refused(deployment: Deployment):
    """The last character of 32 bytes in base64 has bits that nobody reads."""
    async with enrolled(deployment, "spelt") as agent:
        box = await agent.server_box()
        envelope = agent.sealed(box, pb.LoginRequest(meta=agent.meta))
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        twin = alphabet[alphabet.index(agent.public_key[42]) + 1]
        envelope.wgPubKey = f"{agent.public_key[:42]}{twin}="
        assert await login_with(agent, envelope) is CODE.INVALID_ARGUMENT


@awaited
async def test_a_replayed_message_is_refused(deployment: Deployment):
    async with enrolled(deployment, "recorded") as agent:
        envelope = agent.sealed(await agent.server_box(), pb.Empty())
        await agent.management.Logout(envelope)
        await agent.login(deployment.setup_key())
        replayed = agent.management.Logout(envelope)
        assert await code_of(replayed) is CODE.INVALID_ARGUMENT
        assert (await agent.login()).peerConfig.address


@awaited
async def test_no_other_message_of_a_peer_nor_an_answer_to_it_is_a_logout(
    deployment: Deployment,
):
    async with enrolled(deployment, "overheard") as agent:
        box = await agent.server_box()
        request = pb.LoginRequest(meta=agent.meta)
        answer = await agent.management.Login(agent.sealed(box, request))
        for body in (agent.sealed(box, request).body, answer.body):
            other = pb.EncryptedMessage(wgPubKey=agent.public_key, body=body)
            assert (
                await code_of(agent.management.Logout(other)) is CODE.INVALID_ARGUMENT
            )
        assert (await agent.login()).peerConfig.address


def test_what_is_no_message_at_all_is_refused_without_a_stack(deployment: Deployment):
    async def scenario() -> None:
        async with (
            enrolled(deployment, "garbled") as agent,
            channel_to(deployment.url) as channel,
        ):
            for path in (
                f"{RPC}Login",
                f"{RPC}CreateExpose",
                f"{SIGNAL}Send",
                "/grpc.health.v1.Health/Check",
            ):
                unary: Any = channel.unary_unary(path)
                assert await code_of(unary(b"\xff" * 9)) is CODE.INVALID_ARGUMENT
            sync: Any = channel.unary_stream(f"{RPC}Sync")
            assert await code_of(sync(b"\xff" * 9).read()) is CODE.INVALID_ARGUMENT
            assert (await anext(agent.sync())).HasField("NetworkMap")
            named = (("x-wiretrustee-peer-id", agent.public_key),)
            for path in (f"{RPC}Job", f"{SIGNAL}ConnectStream"):
                opening: Any = channel.stream_stream(path)
                call = opening(metadata=named)
                await call.write(b"\xff" * 9)
                assert await code_of(call.read()) is CODE.INVALID_ARGUMENT

    run(scenario())
    assert "DecodeError" not in deployment.log()
    assert "Traceback" not in deployment.log()


@awaited
async def test_a_signal_stream_is_told_that_what_it_sent_is_too_long(
    deployment: Deployment,
):
    async with enrolled(deployment, "loud") as agent:
        stream = await agent.connect_signal()
        await stream.write(signalexchange_pb2.EncryptedMessage(body=bytes(2**17)))
        assert await code_of(stream.read()) is CODE.INVALID_ARGUMENT


@awaited
async def test_unknown_calls_are_unimplemented(deployment: Deployment):
    async with channel_to(deployment.url) as channel:
        stub = ManagementServiceStub(channel)
        for call in (stub.CreateExpose, stub.RenewExpose, stub.StopExpose):
            with pytest.raises(grpc.aio.AioRpcError, match="not expose") as refused:
                await call(pb.EncryptedMessage())
            assert refused.value.code() is CODE.UNIMPLEMENTED
        unheard_of: Any = channel.unary_unary(f"{RPC}Unheard")
        assert await code_of(unheard_of(b"")) is CODE.UNIMPLEMENTED


@awaited
async def test_the_sync_of_an_unknown_peer_is_denied(deployment: Deployment):
    async with Agent(deployment.url) as agent:
        assert await code_of(anext(agent.sync())) is CODE.PERMISSION_DENIED


@awaited
async def test_a_stream_that_never_reads_holds_nobody_up(deployment: Deployment):
    async with (
        enrolled(deployment, "deaf") as deaf,
        enrolled(deployment, "awake") as awake,
        followed(awake) as seen,
    ):
        box = await deaf.server_box()
        request = deaf.sealed(box, pb.SyncRequest(meta=deaf.meta))
        unread = deaf.management.Sync(request)
        for number in range(5):
            async with enrolled(deployment, f"passer{number}"):
                await until(lambda n=number: f"passer{n}" in names(seen))
        unread.cancel()


def test_a_flood_of_wrong_keys_is_bounded_and_others_are_served(upset: Deployment):
    before = len(upset.log())
    run(_flood(upset))
    metrics = upset.metrics()
    assert metrics["management_grpc_login_request_blocked_counter"] >= FLOOD / 2
    assert metrics["management_grpc_login_request_counter"] >= 30
    failed = [line for line in upset.log()[before:].splitlines() if "error" in line]
    assert failed == []
    upset.stop(signal.SIGKILL)
    upset.start()
    # The database remembers, whichever process is asked.
    assert run(_wrong_key(upset)) is CODE.RESOURCE_EXHAUSTED


async def _wrong_key(deployment: Deployment) -> grpc.StatusCode:
    async with Agent(deployment.url) as bad:
        request = pb.LoginRequest(setupKey=WRONG, meta=bad.meta)
        return await login_with(bad, bad.sealed(await bad.server_box(), request))


async def _flood(deployment: Deployment) -> None:
    async with AsyncExitStack() as stack:
        honest = await stack.enter_async_context(enrolled(deployment, "honest"))
        agents = [Agent(deployment.url) for _ in range(CONNECTIONS)]
        for bad in agents:
            await stack.enter_async_context(bad)
        boxes = [await bad.server_box() for bad in agents]
        codes: list[grpc.StatusCode] = []

        async def attempt(number: int) -> None:
            bad = agents[number]
            request = pb.LoginRequest(setupKey=WRONG, meta=bad.meta)
            codes.append(await login_with(bad, bad.sealed(boxes[number], request)))

        flood = [
            asyncio.create_task(attempt(number % CONNECTIONS))
            for number in range(FLOOD)
        ]
        await honest.login()
        assert (await anext(honest.sync())).HasField("NetworkMap")
        await asyncio.gather(*flood)
    assert set(codes) == {CODE.PERMISSION_DENIED, CODE.RESOURCE_EXHAUSTED}
    assert codes.count(CODE.RESOURCE_EXHAUSTED) >= FLOOD / 2
    async with enrolled(deployment, "newcomer") as newcomer:  # from the same address
        assert (await anext(newcomer.sync())).HasField("NetworkMap")


@pytest.mark.slow
def test_agents_come_back_after_a_kill(upset: Deployment):
    run(_killed(upset))


async def _killed(deployment: Deployment) -> None:
    async with enrolled(deployment, "survivor") as agent, followed(agent) as seen:
        before = seen.serial
        key = (await agent.server_box()).encode()
        await asyncio.to_thread(deployment.stop, signal.SIGKILL)
        await until(lambda: seen.breaks)
        await asyncio.to_thread(deployment.start)
        maps = seen.maps
        await until(lambda: seen.maps > maps)
        assert seen.serial >= before
        assert (await agent.server_box()).encode() == key
        await until(lambda: deployment.peer("survivor")["connected"])


@awaited
async def test_a_stop_in_order_ends_streams_with_ok(upset: Deployment):
    async with enrolled(upset, "guest") as agent:
        messages = agent.sync()
        await anext(messages)
        await until(lambda: upset.peer("guest")["connected"])
        stopping = asyncio.create_task(asyncio.to_thread(upset.stop))
        async for _ in messages:  # raises unless the stream ends with OK
            pass
        assert await stopping == 0
        assert not upset.peer("guest")["connected"]


@awaited
async def test_two_keys_are_two_peers(deployment: Deployment):
    key = deployment.setup_key()
    addresses = set()
    for _ in range(2):
        async with Agent(
            deployment.url, hostname="same", private_key=PrivateKey.generate()
        ) as agent:
            addresses.add((await agent.login(key)).peerConfig.address)
    assert len(addresses) == 2


def test_a_taken_port_is_refused_with_one_sentence(deployment: Deployment, tmp_path):
    elsewhere = {"SVC_GRPC_BIND": deployment.bind, "SVC_RUNTIME_DIR": str(tmp_path)}
    said = not_served({**deployment.server.environ, **elsewhere})
    assert "choose another HOST:PORT" in said


def test_a_certificate_that_is_none_is_told_as_such(deployment: Deployment, tmp_path):
    file = tmp_path / "chain.pem"
    file.write_text("no certificate")
    odd = {"SVC_GRPC_CERTIFICATE": str(file), "SVC_GRPC_KEY": str(file)}
    elsewhere = {"SVC_GRPC_BIND": f"127.0.0.1:{free_port()}", **odd}
    elsewhere["SVC_RUNTIME_DIR"] = str(tmp_path)
    said = not_served({**deployment.server.environ, **elsewhere})
    assert "are no certificate with its key" in said


def test_the_process_that_serve_starts_waits_for_tables_and_stops_when_told(tmp_path):
    bind = f"127.0.0.1:{free_port()}"
    peers = Server(tmp_path, content="", SVC_GRPC_BIND=bind)  # nothing is migrated
    peers.launch(*serve.PEERS)
    try:
        said = "the maps cannot be refreshed"
        waiting.until(lambda: said in peers.printed(), patience=90)
        assert peers.process is not None
        assert peers.process.poll() is None
        assert "Traceback" not in peers.printed()
    finally:
        assert peers.stop() == 0
