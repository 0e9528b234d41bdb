"""Two processes for peers on two hosts, and agents that reach them through nginx."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from meshmgmt.control.agent import Agent, Follower
from meshmgmt.control.protocol import management_pb2 as pb
from tests.control.agents import awaited, following, until
from tests.control.deployment import Deployment, deployed
from tests.control.peerhosts import PeerHost, nginx_before, peer_host
from tests.dns.bodies import nameserver_group

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="ip is not installed"),
]

EACH = 40
AT_ONCE = 8


@dataclass
class Hosts:
    """The API, both hosts, and where agents connect."""

    api: Deployment
    hosts: tuple[PeerHost, PeerHost]
    url: str

    def resolve_by(self, address: str) -> None:
        """Give everybody a DNS server, which shows in every map."""
        everybody = self.api.api("GET", "/groups?name=All")[0]["id"]
        by = {"name": f"by {address}", "nameservers": [{"ip": address}]}
        body = nameserver_group(groups=[everybody], **by)
        self.api.api("POST", "/dns/nameservers", body)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Hosts]:
    """Yield two hosts whose agents do not see each other."""
    with (
        deployed(tmp_path / "var", everybody_allowed=False) as api,
        peer_host(api.server, 1) as first,
        peer_host(api.server, 2) as second,
        nginx_before(tmp_path / "nginx", (first, second)) as url,
    ):
        yield Hosts(api, (first, second), url)


class Witness(Follower):
    """An agent that notes the serial of every map."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self.serials: list[int] = []

    def _apply(self, message: pb.SyncResponse) -> None:
        if message.HasField("NetworkMap"):
            self.serials.append(message.NetworkMap.Serial)
        super()._apply(message)

    def resolves_by(self, address: str) -> bool:
        """Tell whether the newest map names this DNS server."""
        groups = self.map.DNSConfig.NameServerGroups
        return any(address == server.IP for g in groups for server in g.NameServers)


@awaited
async def test_agents_of_a_killed_host_come_back_to_the_other(both: Hosts):
    first, second = both.hosts
    key = await asyncio.to_thread(both.api.setup_key)
    one_more = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:

        async def witness(number: int) -> Witness:
            agent = await stack.enter_async_context(
                Agent(both.url, hostname=f"agent-{number}")
            )
            async with one_more:
                await agent.login(key)
                found = Witness(agent)
                await stack.enter_async_context(following(found))
            return found

        crowd = await asyncio.gather(*map(witness, range(2 * EACH)))

        async def all_told(address: str) -> None:
            await asyncio.to_thread(both.resolve_by, address)
            await until(lambda: all(each.resolves_by(address) for each in crowd))

        await until(lambda: first.connected + second.connected == len(crowd))
        assert min(first.connected, second.connected) >= EACH // 2
        await all_told("10.9.9.1")
        orphans = second.connected
        second.kill()
        await until(lambda: first.connected == len(crowd))
        assert sum(each.breaks > 0 for each in crowd) == orphans
        await all_told("10.9.9.2")
        await asyncio.to_thread(second.start)
        await all_told("10.9.9.3")
    for each in crowd:
        assert each.serials == sorted(each.serials)
