"""A thousand calls wait for the database: what the process itself has to do goes on."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nacl.public import Box, PrivateKey

from meshmgmt import env
from meshmgmt.control.models import PeerJob, StreamProcess
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server import jobs as streams
from meshmgmt.control.server.envelope import Envelopes
from meshmgmt.control.server.jobs import Jobs
from meshmgmt.control.server.server import THREADS, PeerServer
from meshmgmt.control.server.threads import MOST_WAITING, Threads
from meshmgmt.control.services import jobs
from meshmgmt.control.services.refusals import Busy
from tests.control.agents import run
from tests.control.test_jobs import PARAMETERS, connected

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("connections_that_end"),
]


def asked(name: str) -> PeerJob:
    """Return a job of a new peer."""
    return jobs.job_create(peer_id=connected(name).pk, parameters=PARAMETERS)


@asynccontextmanager
async def crowd(threads: Threads, number: int = 1) -> AsyncIterator[None]:
    """Keep all of the threads busy in a block, and as many waiting as may."""
    gate = threading.Event()
    calls = [
        asyncio.create_task(threads.run(gate.wait))
        for _ in range(number + MOST_WAITING)
    ]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await threads.run(gate.wait)
    try:
        yield
    finally:
        gate.set()
        await asyncio.gather(*calls)


def test_it_says_that_it_lives():
    async def scenario() -> None:
        server = PeerServer(env.load({}))
        async with crowd(server.threads, THREADS):
            await server._beat()
        for threads in (server.threads, server.upkeep):
            await asyncio.to_thread(threads.close)

    run(scenario())
    assert StreamProcess.objects.exists()


def test_the_answer_to_a_job_is_stored_when_that_is_possible(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(streams, "RETRY_SECONDS", 0.01)
    job = asked("web")
    [_] = jobs.take_orders({job.peer_id})
    answer = pb.JobResponse(ID=job.pk.encode(), status=pb.JobStatus.succeeded)

    async def scenario() -> None:
        threads = Threads(1, "test")
        stored = Jobs(Envelopes("a"), threads)._store(job.peer_id, answer)
        async with crowd(threads):
            storing = asyncio.create_task(stored)
            await asyncio.sleep(0)
        await storing
        await asyncio.to_thread(threads.close)

    run(scenario())
    job.refresh_from_db()
    assert job.status == "succeeded"


def test_a_job_that_cannot_be_given_up_keeps_no_other_from_its_peer():
    first, second, third = (asked(name) for name in ("one", "two", "three"))
    private = PrivateKey.generate()
    box = Box(private, private.public_key)
    written: list[Any] = []

    async def scenario() -> None:
        threads = Threads(1, "test")
        handing_out = Jobs(Envelopes("a"), threads)
        full = crowd(threads)

        class Wire:
            """Takes a job; with the first one, the second peer goes and many come."""

            async def write(self, envelope: Any) -> None:
                written.append(envelope)
                if handing_out._streams.pop(second.peer_id, None):
                    await full.__aenter__()

        for job in (first, second, third):
            wire: Any = Wire()
            stream = streams._Stream(job.peer_id, "", box, wire)
            handing_out._streams[job.peer_id] = stream
        with pytest.raises(Busy):
            await handing_out._hand_out()
        await full.__aexit__(None, None, None)
        await asyncio.to_thread(threads.close)

    run(scenario())
    assert len(written) == 2
