"""Parts of the server by themselves: codes, envelopes, streams, threads, bus and hub."""

import asyncio
import base64
import json
import math
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from functools import wraps
from ipaddress import ip_network
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from django.db import IntegrityError, InterfaceError, OperationalError, connection
from hypothesis import given
from hypothesis import strategies as st
from nacl.public import Box, PrivateKey, PublicKey

from meshmgmt import env
from meshmgmt.control.checks import Unsendable
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol import signalexchange_pb2
from meshmgmt.control.server.bus import Bus
from meshmgmt.control.server.envelope import MOST_BYTES, Envelopes
from meshmgmt.control.server.hub import Hub
from meshmgmt.control.server.messages import FlowRule
from meshmgmt.control.server.server import renewal
from meshmgmt.control.server.signalling import SignalExchange
from meshmgmt.control.server.status import source_of, status_of
from meshmgmt.control.server.streams import Ending, Streams
from meshmgmt.control.server.tasks import Places
from meshmgmt.control.server.threads import MOST_WAITING, Batches, Threads
from meshmgmt.control.services.logins import Session
from meshmgmt.control.services.presence import Connected, Disconnected
from meshmgmt.control.services.refusals import Busy, Code, Refused
from meshmgmt.core import context
from meshmgmt.core.errors import Forbidden, NotFound, Unavailable
from meshmgmt.inventory.services.peers import peer_update
from tests.control.agents import run, until
from tests.factories import group, peer, rule

PASSING = [
    OperationalError("the connection is lost"),
    InterfaceError("closed"),
    IntegrityError("a race"),
    TimeoutError(),
    ConnectionResetError(),
    PermissionError("a file"),
    Unavailable("the provider cannot be reached"),
]
OTHERS = [Forbidden("no"), NotFound("no"), KeyError("x"), Unsendable("no address")]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        *((error, grpc.StatusCode.UNAVAILABLE) for error in PASSING),
        *((error, grpc.StatusCode.INTERNAL) for error in OTHERS),
    ],
    ids=lambda part: getattr(part, "name", type(part).__name__),
)
def test_trouble_is_no_refusal_and_unavailable_while_it_passes(
    error: Exception, code: grpc.StatusCode
):
    found, text = status_of(error)

    assert found is code
    assert str(error) not in text or not str(error)


@pytest.mark.parametrize("code", Code)
def test_a_refusal_has_its_own_code_and_keeps_its_reason(code: Code):
    refusal = Refused(code, "try another key", reason="key 17 is revoked")

    assert status_of(refusal) == (grpc.StatusCode[code.name], "try another key")


@given(hostname=st.text(max_size=200), secret=st.text(min_size=1))
def test_what_an_agent_seals_the_server_opens_and_back(hostname: str, secret: str):
    envelopes = Envelopes(secret)
    request = pb.LoginRequest(meta=pb.PeerSystemMeta(hostname=hostname))
    agent, envelope = _sealed(envelopes, request)

    opened = envelopes.open(envelope, pb.LoginRequest)

    assert opened.message == request
    answer = envelopes.seal(opened.box, b"answer")
    assert agent.decrypt(answer.body) == b"answer"
    assert answer.wgPubKey == envelopes.public_key


def test_the_same_secret_makes_the_same_key():
    assert Envelopes("a").public_key == Envelopes("a").public_key
    assert Envelopes("a").public_key != Envelopes("b").public_key


@given(position=st.integers(0, 63), bit=st.integers(0, 7))
def test_a_changed_envelope_does_not_open(position: int, bit: int):
    envelopes = Envelopes("a")
    _, envelope = _sealed(envelopes, pb.JobRequest(ID=b"x" * 30))
    body = bytearray(envelope.body)
    body[position % len(body)] ^= 1 << bit
    envelope.body = bytes(body)

    with pytest.raises(Refused) as refused:
        envelopes.open(envelope, pb.JobRequest)
    assert refused.value.code is Code.INVALID_ARGUMENT


def test_messages_are_measured_with_the_keys_that_they_name():
    envelope = pb.EncryptedMessage(wgPubKey="A" * MOST_BYTES)
    signal = signalexchange_pb2.EncryptedMessage(key="A" * 2**16, remoteKey="b")

    with pytest.raises(Refused, match="too long"):
        Envelopes.refuse_long(envelope)
    with pytest.raises(Refused, match="too long"):
        SignalExchange(Bus(exists=False), Threads(1, "t")).forward(signal)


def test_a_certificate_that_could_not_be_read_is_tried_again(tmp_path: Path):
    key, chain = tmp_path / "key.pem", tmp_path / "chain.pem"
    for file in (key, chain):
        file.write_text("as before")
    renewed = renewal((key, chain))
    assert renewed() is None
    chain.unlink()
    chain.mkdir()
    with pytest.raises(IsADirectoryError):
        renewed()
    seen = chain.stat().st_mtime_ns
    chain.rmdir()
    chain.write_text("anew")
    os.utime(chain, ns=(seen, seen))  # as when only its rights are mended
    assert renewed() is not None
    assert renewed() is None


def _sealed(envelopes: Envelopes, message: Any) -> tuple[Box, pb.EncryptedMessage]:
    """Return the box of a new agent, and its envelope with a message."""
    private = PrivateKey.generate()
    box = Box(private, PublicKey(base64.b64decode(envelopes.public_key)))
    key = base64.b64encode(bytes(private.public_key)).decode()
    body = box.encrypt(message.SerializeToString())
    return box, pb.EncryptedMessage(wgPubKey=key, body=body)


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine without gRPC, on a loop of its own."""

    @wraps(test)
    def looping(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return looping


def opened(streams: Streams, peer_id: str, recorded: int = 0) -> Any:
    """Return a stream; untyped, for what ends it changes between two looks."""
    session = Session(peer_id, None, recorded)
    return streams.open(session, cast("Any", None), cast("Any", None))


@on_a_loop
async def test_the_newest_stream_of_a_peer_counts():
    streams = Streams()
    first, second = opened(streams, "p"), opened(streams, "p")
    assert second.started > first.started
    assert first.ending is Ending.REPLACED
    streams.close(first)
    assert streams.get("p") == second
    streams.replace("p", second.started - 1)  # an old notice from elsewhere
    assert second.ending != Ending.REPLACED
    streams.replace("p", second.started + 1)
    assert second.ending is Ending.REPLACED
    streams.close(second)
    assert len(streams) == 0
    assert streams.changes == [
        Connected("p", first.started),
        Connected("p", second.started),
        Disconnected("p", first.started),
        Disconnected("p", second.started),
    ]


@on_a_loop
async def test_a_stream_begins_after_the_one_on_record_whatever_the_clock_says():
    streams = Streams()
    ahead = time.time_ns() + 10**12
    first = opened(streams, "p", ahead)
    second = opened(streams, "p", ahead)  # the first one is not written yet
    assert ahead < first.started < second.started
    assert first.ending is Ending.REPLACED


@on_a_loop
async def test_the_first_change_goes_at_once_and_the_next_a_second_later():
    streams = Streams()
    stream = opened(streams, "p")
    stream.delivered(7)
    now = time.monotonic()
    stream.changed(now)
    assert stream.wake.is_set()
    assert stream.map_due <= now
    stream.map_due, stream.sent_at = math.inf, now
    stream.delivered(8)
    stream.wake.clear()
    stream.changed(now + 0.2)
    stream.changed(now + 0.9)  # joins the one that waits, and does not put it off
    assert not stream.wake.is_set()
    assert stream.map_due == pytest.approx(now + 1.0)
    assert stream.waiting_since == now + 0.2
    assert streams.waiting(9)["p"][1] == 8


@on_a_loop
async def test_the_first_reason_to_end_counts():
    stream = opened(Streams(), "p")
    stream.end(Ending.REFUSED)
    stream.end(Ending.STOPPING)
    assert stream.ending is Ending.REFUSED


@pytest.fixture
def threads(db: None) -> Iterator[Threads]:
    made = Threads(1, "t")
    yield made
    made.close()


@on_a_loop
async def test_a_batch_gives_each_its_own_result_or_error(threads: Threads):
    sizes = []

    def work(numbers: list[int]) -> "list[int | Exception]":
        sizes.append(len(numbers))
        return [ValueError(n) if n == 3 else n * n for n in numbers]

    batches = Batches(threads, work)
    waiting = [asyncio.create_task(batches.one(n)) for n in range(6)]
    await asyncio.sleep(0)
    waiting[5].cancel()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert found[:3] == [0, 1, 4]
    assert isinstance(found[3], ValueError)
    assert found[4] == 16
    assert sum(sizes) == 6


@on_a_loop
async def test_a_batch_that_fails_fails_for_all_and_the_next_one_works(
    threads: Threads,
):
    broken = [True]

    def work(numbers: list[int]) -> "list[int | Exception]":
        if broken.pop() if broken else False:
            raise OperationalError("gone")
        return list(numbers)

    batches = Batches(threads, work)
    found = await asyncio.gather(batches.one(1), batches.one(2), return_exceptions=True)
    assert [type(error) for error in found] == [OperationalError] * 2
    assert await batches.one(3) == 3


@on_a_loop
async def test_a_batch_is_worked_on_in_the_name_of_no_caller(threads: Threads):
    batches: Batches[int, str] = Batches(
        threads, lambda _: [context.current().request_id]
    )
    with context.scope(request_id="of the first caller"):
        assert await batches.one(1) == ""


@on_a_loop
async def test_more_than_so_many_waiting_calls_are_refused(threads: Threads):
    gate = threading.Event()
    busy = asyncio.create_task(threads.run(gate.wait))
    await asyncio.sleep(0)
    waiting = [
        asyncio.create_task(threads.run(lambda: None)) for _ in range(MOST_WAITING)
    ]
    await asyncio.sleep(0)
    with pytest.raises(Busy) as refused:
        await threads.run(lambda: None)
    assert refused.value.code is Code.RESOURCE_EXHAUSTED
    waiting[0].cancel()
    gate.set()
    await busy
    await asyncio.gather(*waiting[1:])


@given(body=st.binary(max_size=30_000), seed=st.randoms())
def test_a_signal_in_parts_is_put_together_whatever_their_order(body: bytes, seed: Any):
    sender, receiver = Bus(exists=True), Bus(exists=True)
    heard: list[bytes] = []
    receiver.on_signal = heard.append
    sender.signal(body)
    pieces = []
    while not sender._outgoing.empty():
        pieces.append(sender._outgoing.get_nowait())
    assert all(len(text.encode()) < 8000 for _, text in pieces)
    seed.shuffle(pieces)
    for channel, text in pieces:
        receiver._heard(channel, text)
        sender._heard(channel, text)  # one's own words
    assert heard == ([body] if body else [])


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@on_a_loop
async def test_a_listener_that_is_cut_takes_its_sender_with_it():
    bus = Bus()
    running = asyncio.create_task(bus.run())
    await until(lambda: bus.listening)
    await asyncio.to_thread(_cut_listeners)
    await until(lambda: not bus.listening)
    await until(lambda: bus.listening)
    work = [str(task.get_coro()) for task in asyncio.all_tasks()]
    assert sum("Bus._send" in each for each in work) == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def _cut_listeners() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN %'"
        )
    connection.close()


def test_parts_that_never_become_whole_are_forgotten():
    bus = Bus()
    for number in range(1000):
        piece = {"by": "x", "id": str(number), "of": 2, "n": 0, "part": "a"}
        bus._heard("mesh_signal", json.dumps(piece))
    assert len(bus._partial) <= 101


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (FlowRule(enabled=False, counters=True), (False, False)),
        (FlowRule(enabled=True), (True, False)),
        (FlowRule(enabled=True, counters=True), (True, True)),
        (FlowRule(enabled=True, members=frozenset({"p"})), (True, False)),
        (FlowRule(enabled=True, counters=True, members=frozenset()), (False, False)),
    ],
)
def test_who_reports_traffic(rule: FlowRule, told: tuple[bool, bool]):
    assert rule.told("p") == told


MANY = 1000


@pytest.mark.parametrize(
    "crowd",
    [
        pb.SyncResponse(NetworkMap={"remotePeers": [{"allowedIps": "abc"}] * 251}),
        pb.LoginRequest(dnsLabels=[""] * (MANY + 1)),
        pb.LoginRequest(meta=pb.PeerSystemMeta(files=[pb.File()] * (MANY + 1))),
        pb.LoginRequest(
            meta=pb.PeerSystemMeta(
                capabilities=[pb.PeerCapability.PeerCapabilityIPv6Overlay] * (MANY + 1)
            )
        ),
    ],
    ids=["lists in lists", "labels", "files", "packed numbers"],
)
def test_a_message_of_too_many_entries_is_refused(crowd: Any):
    envelopes = Envelopes("a")
    _, sealed = _sealed(envelopes, crowd)

    with pytest.raises(Refused, match="more than 1000 entries") as refused:
        envelopes.open(sealed, type(crowd))

    assert refused.value.code is Code.INVALID_ARGUMENT


def test_a_login_of_a_thousand_entries_opens():
    envelopes, request = Envelopes("a"), pb.LoginRequest(dnsLabels=["label"] * MANY)
    _, sealed = _sealed(envelopes, request)
    assert envelopes.open(sealed, pb.LoginRequest).message == request


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("6.6.6.6, 192.0.2.7:40001,,127.0.0.8", "192.0.2.7"),
        ("192.0.2.7, unknown", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_trusted_proxies_name_the_caller(settings: Any, said: str, source: str):
    trusted = (ip_network("127.0.0.0/8"),)
    settings.SVC = replace(settings.SVC, trusted_proxies=trusted)

    async def answer(_: bytes, call: Any) -> bytes:
        return source_of(call).encode()

    async def asked() -> Any:
        server = grpc.aio.server()
        handler: Any = grpc.unary_unary_rpc_method_handler(answer)
        handlers = grpc.method_handlers_generic_handler("test", {"Source": handler})
        server.add_generic_rpc_handlers((handlers,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call: Any = channel.unary_unary("/test/Source")
            found = await call(b"", metadata=[("x-forwarded-for", said)])
        await server.stop(None)
        return found

    assert asyncio.run(asked()).decode() == source


class Wire:
    """A connection of an agent, which keeps what is written."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    async def write(self, envelope: Any) -> None:
        self.written.append(envelope)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("connections_that_end")
def test_a_replaced_stream_takes_no_map_from_the_one_that_replaced_it():
    web, db = peer("web"), peer("db")
    both = group("both", web, db)
    rule([both], [both])
    private = PrivateKey.generate()
    box = Box(private, private.public_key)

    async def scenario() -> None:
        hub = Hub(env.load({}), Envelopes("a"), Streams(), Threads(1, "test"))
        hub._turns = Places(1)
        wires: Any = Wire(), Wire()
        tasks = [asyncio.create_task(hub.run())]
        await hub.fresh()
        older = hub.streams.open(Session(web.pk, None), box, wires[0])
        async with hub._turns.one() as place:
            older.changed(time.monotonic())
            tasks.append(asyncio.create_task(hub.serve(older)))
            await asyncio.sleep(0)  # until it waits for its turn
            newer = hub.streams.open(Session(web.pk, None), box, wires[1])
            await hub._send(newer, hub.messages.first, place)
            await hub.threads.run(peer_update, peer_id=db.pk, name="storage")
            await hub.fresh()
        await tasks[-1]
        tasks.append(asyncio.create_task(hub.serve(newer)))
        await until(lambda: newer.held == hub.serial)
        assert [len(wire.written) for wire in wires] == [0, 2]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for threads in (hub.threads, hub.maps):
            await asyncio.to_thread(threads.close)

    run(scenario())
