"""Floods of strangers at the peers' port: what they cost the others, and what stays."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from meshmgmt.control.server import guests
from meshmgmt.control.server.guests import (
    LOGINS_AT_ONCE,
    SUSPECTS,
    WRONG_KEYS,
    Guests,
    Health,
    KeyLogins,
    Seats,
    add_standard_services,
)
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import logins
from meshmgmt.control.services.refusals import Code, Refused, WrongKey
from meshmgmt.env import BASE_DIR
from tests.control.agents import awaited, enrolled, run
from tests.control.deployment import Deployment
from tests.control.machines import SOURCE, public_key, request
from tests.factories import setup_key
from tests.waiting import until
from tests.wire import half_request

SERVING = HealthCheckResponse.SERVING
KEYS = 1600
STREAMS = 10_000
MEBIBYTES = 120
"""What silent streams may cost; once it was 300 for these, for good."""

KEY_FLOOD = """
import asyncio, json, sys
from collections import Counter
import grpc
from meshmgmt.control.agent import Agent
from meshmgmt.control.protocol import management_pb2 as pb

async def main(url, count):
    agents = [Agent(url) for _ in range(20)]
    boxes = [await bad.server_box() for bad in agents]
    async def attempt(bad, box):
        key = "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA"
        request = bad.sealed(box, pb.LoginRequest(setupKey=key, meta=bad.meta))
        try:
            await bad.management.Login(request)
        except grpc.aio.AioRpcError as error:
            return error.code().name
    tasks = [
        asyncio.create_task(attempt(agents[n % 20], boxes[n % 20])) for n in range(count)
    ]
    await asyncio.sleep(0)
    print("sent", flush=True)
    print(json.dumps(Counter(await asyncio.gather(*tasks))))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
SILENT_STREAMS = """
import asyncio, resource, sys
from meshmgmt.control.agent import Agent, channel_to
from meshmgmt.control.protocol.management_pb2_grpc import ManagementServiceStub
from meshmgmt.control.protocol.signalexchange_pb2_grpc import SignalExchangeStub

async def main(url, count):
    channels = [channel_to(url) for _ in range(20)]
    streams = []
    for number in range(count):
        channel = channels[number % len(channels)]
        if number % 2:
            streams.append(ManagementServiceStub(channel).Job())
        else:
            named = (("x-wiretrustee-peer-id", f"nobody {number}"),)
            streams.append(SignalExchangeStub(channel).ConnectStream(metadata=named))
    print("sent", flush=True)
    await asyncio.wait([asyncio.ensure_future(each.code()) for each in streams])

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@contextmanager
def flooding(program: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a program that floods; ends it with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process, process.stdout:
        try:
            assert process.stdout.readline() == "sent\n"
            yield process
        finally:
            process.kill()


def memory(deployment: Deployment) -> float:
    """Return the MiB that the process for peers has."""
    assert deployment.process is not None
    status = Path(f"/proc/{deployment.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


@pytest.mark.slow
def test_of_many_wrong_keys_in_flight_few_are_looked_up_and_honest_logins_go_on(
    upset: Deployment,
):
    honest = 0

    async def scenario() -> dict[str, int]:
        nonlocal honest
        async with enrolled(upset, "honest beside keys") as agent:
            with flooding(KEY_FLOOD, upset.url, str(KEYS)) as flood:
                while flood.poll() is None:
                    await agent.login()
                    honest += 1
                assert flood.stdout is not None
                ends: dict[str, int] = json.loads(flood.stdout.read())
                return ends

    ends = run(scenario())
    # A slow machine may begin a second minute of the limit, and gRPC gives calls up that
    # wait for half a minute.
    assert 0 < ends.pop("PERMISSION_DENIED") <= 2 * WRONG_KEYS.count
    assert not ends.keys() - {"RESOURCE_EXHAUSTED", "CANCELLED"}
    assert honest


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("connections_that_end")
@awaited
async def test_wrong_keys_beyond_the_limit_are_not_looked_up_but_a_right_one_is():
    looked_up: list[int] = []

    def wrong() -> None:
        looked_up.append(1)
        raise WrongKey("the setup key is not valid")

    logins = KeyLogins()
    flood = [logins.run("192.0.2.1", wrong) for _ in range(KEYS)]
    ends = await asyncio.gather(*flood, return_exceptions=True)
    codes = Counter(end.code for end in ends if isinstance(end, Refused))
    assert codes == {
        Code.PERMISSION_DENIED: WRONG_KEYS.count,
        Code.RESOURCE_EXHAUSTED: KEYS - WRONG_KEYS.count,
    }
    assert len(looked_up) <= WRONG_KEYS.count + LOGINS_AT_ONCE + SUSPECTS
    assert await logins.run("192.0.2.1", lambda: "let in") == "let in"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("connections_that_end")
def test_a_good_key_that_allows_no_dns_labels_is_no_wrong_key():
    labelled = request(setupKey=setup_key().plain, dnsLabels=["db"])

    async def scenario() -> None:
        key_logins = KeyLogins()
        for _ in range(WRONG_KEYS.count + 5):
            with pytest.raises(Refused, match="may not have extra DNS labels"):
                await key_logins.run(
                    SOURCE, lambda: logins.login(public_key(), labelled, SOURCE)
                )

    run(scenario())


@pytest.mark.slow
def test_silent_streams_of_strangers_are_few_and_go(upset: Deployment):
    async def scenario() -> None:
        async with enrolled(upset, "honest beside streams") as agent:
            await agent.login()
            before = memory(upset)
            with flooding(SILENT_STREAMS, upset.url, str(STREAMS)) as flood:
                await agent.login()
                stream = await agent.connect_signal()
                await agent.send_signal(agent.public_key, b"heard")
                assert (await stream.read()).body == b"heard"
                await asyncio.to_thread(flood.communicate, timeout=100)
                grown = memory(upset) - before
            assert grown < MEBIBYTES, f"{grown:.0f} MiB"

    run(scenario())
    until(lambda: "of no peer" in upset.log())


@awaited
async def test_a_stream_that_does_not_say_whose_it_is_goes(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(guests, "PATIENCE_SECONDS", 0.05)
    waiting = Guests(Threads(1, "test")).identified("192.0.2.1", _never)
    with pytest.raises(Refused) as refused:
        await waiting
    assert refused.value.code is Code.UNAUTHENTICATED


@awaited
async def test_nameless_streams_are_bounded_for_an_address_and_in_all(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(guests, "PER_ADDRESS", 3)
    monkeypatch.setattr(guests, "GUESTS", 5)
    entrance = Guests(Threads(1, "test"))
    sources = ["192.0.2.1"] * 4 + ["192.0.2.2"] * 3
    waiting = [
        asyncio.create_task(entrance.identified(source, _never)) for source in sources
    ]
    await asyncio.sleep(0)
    assert [n for n, task in enumerate(waiting) if task.done()] == [3, 6]
    for task in waiting:
        task.cancel()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    codes = {each.code for each in outcomes if isinstance(each, Refused)}
    assert codes == {Code.RESOURCE_EXHAUSTED}
    assert not entrance._crowd._here


async def _never() -> Any:
    await asyncio.Event().wait()


def test_a_key_has_four_seats():
    seats = Seats()
    with seats.one("a"), seats.one("a"), seats.one("a"), seats.one("a"):
        with pytest.raises(Refused), seats.one("a"):
            pytest.fail("there was a fifth")
        with seats.one("b"):
            pass
    assert not seats._taken


@awaited
async def test_those_who_watch_the_health_or_read_the_reflection_are_few(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(guests, "PER_ADDRESS", 2)
    question = ServerReflectionRequest(list_services="")
    async with standard_services() as (_, _, channel):
        watch = HealthStub(channel).Watch
        read = ServerReflectionStub(channel).ServerReflectionInfo
        watching, reading = watch(HealthCheckRequest()), read()
        assert (await watching.read()).status == SERVING
        await reading.write(question)
        assert "some.Service" in str(await reading.read())
        for refused in (watch(HealthCheckRequest()), read()):
            assert await refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


@awaited
async def test_who_watches_the_health_and_reads_nothing_keeps_nobody_waiting():
    async with standard_services() as (health, port, channel):
        stub = HealthStub(channel)
        with half_request(port, watching_nothing()), pytest.raises(grpc.RpcError) as no:
            while not health._crowd._here.total():
                await asyncio.sleep(0.02)
            watching = stub.Watch(
                HealthCheckRequest(service="some.Service"), timeout=20
            )
            for state in (SERVING, HealthCheckResponse.NOT_SERVING):
                health.say(state)
                assert (await watching.read()).status == state
                assert (await stub.Check(HealthCheckRequest())).status == state
            await stub.Check(HealthCheckRequest(service="other"))
        assert no.value.code() == grpc.StatusCode.NOT_FOUND


def watching_nothing() -> bytes:
    """Return a Watch in HTTP/2 (RFC 9113) of a client with no room for an answer."""

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        head = len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4)
        return head + payload

    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/grpc.health.v1.Health/Watch",
        ":authority": "x",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    fields = b"".join(
        b"\0%c%b%c%b" % (len(name), name.encode(), len(value), value.encode())
        for name, value in headers.items()
    )
    no_window = (4).to_bytes(2) + (0).to_bytes(4)
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + frame(4, 0, 0, no_window)
        + frame(1, 4, 1, fields)
        + frame(0, 1, 1, bytes(5))
    )


@asynccontextmanager
async def standard_services() -> AsyncIterator[tuple[Health, int, grpc.aio.Channel]]:
    """Yield what tells the health of a server, its port, and a channel to it."""
    server = grpc.aio.server()
    health = add_standard_services(server, ["some.Service"])
    health.say(SERVING)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield health, port, channel
    await server.stop(None)
