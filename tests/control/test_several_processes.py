"""Two processes that serve peers over one PostgreSQL: on two ports, or sharing one."""

import asyncio
import json
import os
import signal
from contextlib import AsyncExitStack, suppress
from typing import Any

import psycopg
import pytest

from meshmgmt.control.protocol import management_pb2 as pb
from tests import waiting
from tests.control.agents import Agent, awaited, enrolled, followed, names, until
from tests.control.deployment import Deployment, deployed
from tests.control.test_jobs_on_the_wire import ask, working
from tests.processes import ended

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Yield two deployments that differ in the peers' port and process alone."""
    with deployed(tmp_path_factory.mktemp("peers") / "var") as first:
        second = Deployment(first.server)
        start(second)
        try:
            yield first, second
        finally:
            if second.process is not None:
                second.stop(signal.SIGINT)


def start(second: Deployment) -> None:
    """Start the second process as one of another host."""
    second.start(SVC_RUNTIME_DIR=str(second.server.folder / "second"))


def elsewhere(agent: Agent, deployment: Deployment) -> Agent:
    """Return the same peer, connected to another process."""
    return Agent(
        deployment.url, hostname=agent.meta.hostname, private_key=agent.private_key
    )


@awaited
async def test_both_processes_have_the_same_key(both):
    async with Agent(both[0].url) as one, elsewhere(one, both[1]) as two:
        first, second = await one.server_box(), await two.server_box()
        assert first.shared_key() == second.shared_key()


@awaited
async def test_a_change_made_at_one_reaches_agents_of_the_other(both):
    async with (
        enrolled(both[0], "here") as agent,
        followed(agent) as seen,
        enrolled(both[1], "there") as other,
    ):
        await until(lambda: "there" in names(seen))
        await other.logout()
        await until(lambda: "there" not in names(seen))


@awaited
async def test_a_job_finds_its_peer_at_the_other_process(both):
    async with (
        enrolled(both[1], "worker") as agent,
        followed(agent),
        working(agent) as worker,
    ):
        job = await ask(both[0], "worker")
        request = await worker.asked()
        assert request.ID.decode() == job.id
        await worker.answer(request, status=pb.JobStatus.failed, Reason=b"no")
        assert (await until(job.done))["failed_reason"] == "no"


@pytest.mark.parametrize("size", [5, 60_000])
@awaited
async def test_a_signal_finds_its_receiver_at_the_other_process(both, size: int):
    body = bytes(n % 251 for n in range(size))
    async with enrolled(both[0], "caller") as one, enrolled(both[1], "called") as two:
        ears = await two.connect_signal()
        await one.send_signal(two.public_key, body)
        heard = await ears.read()
        assert heard.body == body
        assert heard.key == one.public_key


@awaited
async def test_a_stream_at_one_ends_the_older_one_at_the_other(both):
    async with enrolled(both[0], "moved") as one, elsewhere(one, both[1]) as two:
        first, second = one.sync(), two.sync()
        await anext(first)
        await anext(second)
        rest = [message async for message in first]
        assert all(message.HasField("NetworkMap") for message in rest)
        await until(lambda: both[0].peer("moved")["connected"])
        # Ends are written in order: with that of another peer the first one's is.
        async with enrolled(both[0], "marker") as marker, followed(marker):
            await until(lambda: both[0].peer("marker")["connected"])
        await until(lambda: not both[0].peer("marker")["connected"])
        assert both[0].peer("moved")["connected"]
        del second


@awaited
async def test_peers_of_a_killed_process_go_on_at_the_other(both):
    async with enrolled(both[1], "orphan") as one, followed(one) as seen:
        before = seen.serial
        await asyncio.to_thread(both[1].stop, signal.SIGKILL)
        async with elsewhere(one, both[0]) as two, followed(two) as again:
            assert again.serial >= before
            await until(lambda: both[0].peer("orphan")["connected"])
        await asyncio.to_thread(start, both[1])


@pytest.fixture(scope="module")
def sharing(tmp_path_factory):
    """Yield a deployment whose two processes for peers share a port."""
    extra = {"SVC_PEER_PROCESSES": "2"}
    with deployed(tmp_path_factory.mktemp("sharing") / "var", extra) as deployment:
        waiting.until(lambda: len(left(deployment)) == 2)
        yield deployment


def left(deployment: Deployment) -> list[dict[str, Any]]:
    """Return what each process says of itself."""
    found = []
    for path in sorted((deployment.server.folder / "run").glob("peers*.json")):
        with suppress(FileNotFoundError):  # it ended just now
            found.append(json.loads(path.read_text()))
    return found


@awaited
async def test_a_change_reaches_the_streams_of_both_processes_on_one_port(
    sharing: Deployment,
):
    async with AsyncExitStack() as stack:
        seen: list[Any] = []

        async def one_more() -> None:
            agent = await stack.enter_async_context(
                enrolled(sharing, f"shared-{len(seen)}")
            )
            seen.append(await stack.enter_async_context(followed(agent)))

        def spread() -> bool:
            connected = [process["connected"] for process in left(sharing)]
            return bool(sum(connected) == len(seen) and min(connected) > 0)

        while len(seen) < 24 and not spread():
            for _ in range(4):
                await one_more()
            await until(lambda: sum(p["connected"] for p in left(sharing)) == len(seen))
        assert spread()
        await one_more()
        newest = f"shared-{len(seen) - 1}"
        await until(lambda: all(newest in names(each) for each in seen[:-1]))
        streams = 'mesh_peer_streams{kind="sync"}'
        await until(lambda: sharing.metrics()[streams] == len(seen))
        await until(
            lambda: sharing.metrics()["management_grpc_connected_streams"] == len(seen)
        )
        assert all(sharing.peer(f"shared-{n}")["connected"] for n in range(len(seen)))


@awaited
async def test_what_a_stranger_sends_to_nobody_crowds_out_no_signal(both):
    async with (
        enrolled(both[0], "steady") as one,
        enrolled(both[1], "distant") as two,
        Agent(both[0].url) as stranger,
    ):
        ears = await two.connect_signal()
        body = b"x" * 60_000  # a dozen notices each, of which 10,000 would wait
        for _ in range(30):
            flood = (stranger.send_signal("nobody", body) for _ in range(50))
            await asyncio.gather(*flood)
        await asyncio.gather(*(stranger.send_signal("a\0b", b"x") for _ in range(50)))
        await one.send_signal(two.public_key, b"still heard")
        assert (await ears.read()).body == b"still heard"
    assert "other processes are not told" not in both[0].log()


@awaited
async def test_signals_within_a_process_wait_for_no_database(both):
    async with enrolled(both[0], "caller") as one, enrolled(both[0], "called") as two:
        ears = await two.connect_signal()
        with psycopg.connect(both[0].server.database_url) as holder:
            holder.execute("LOCK TABLE inventory_peer IN ACCESS EXCLUSIVE MODE")
            for body in (b"first", b"second"):
                await one.send_signal(two.public_key, body)
                assert (await ears.read()).body == body
            holder.rollback()


@awaited
async def test_a_second_stream_replaces_the_first_whichever_process_has_it(
    sharing: Deployment,
):
    async with enrolled(sharing, "twice") as one:
        for _ in range(6):  # connections of their own, so both processes get some
            async with elsewhere(one, sharing) as two:
                first, second = one.sync(), two.sync()
                await anext(first)
                await anext(second)
                async for message in first:
                    assert message.HasField("NetworkMap")
                await until(lambda: sharing.peer("twice")["connected"])
                del second


@awaited
async def test_a_killed_process_is_started_again_and_its_peers_come_back(
    sharing: Deployment,
):
    killed = left(sharing)[1]["pid"]
    os.kill(killed, signal.SIGKILL)
    await until(lambda: sum(each["pid"] != killed for each in left(sharing)) == 2)
    async with enrolled(sharing, "after") as agent, followed(agent):
        await until(lambda: sharing.peer("after")["connected"])
    assert '"peers": "ok"' in sharing.server.tried("status", "--json").stdout


def test_a_stop_ends_both_and_leaves_nothing_behind(sharing: Deployment):
    pids = [process["pid"] for process in left(sharing)]
    sharing.stop()
    assert left(sharing) == []
    assert all(map(ended, pids))
    sharing.start()
    waiting.until(lambda: len(left(sharing)) == 2)
