"""Two processes that serve peers over one PostgreSQL."""

import asyncio
import signal

import pytest

from meshmgmt.control.agent import Agent
from tests.control.agents import awaited, enrolled, followed, names, until
from tests.control.deployment import Deployment, deployed

pytestmark = pytest.mark.postgresql


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Yield two deployments that differ in the peers' port and process alone."""
    with deployed(tmp_path_factory.mktemp("peers") / "var") as first:
        second = Deployment(first.server, token=first.token)
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
        deployment.url,
        hostname=agent.meta.hostname,
        private_key=agent.private_key,
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


@pytest.mark.parametrize("size", [5, 60_000])
@awaited
async def test_a_signal_finds_its_receiver_at_the_other_process(both, size: int):
    body = bytes(n % 251 for n in range(size))
    async with (
        enrolled(both[0], "caller") as one,
        enrolled(both[1], "called") as two,
    ):
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
        await asyncio.sleep(1)  # the first one's end is written, and is fenced
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
