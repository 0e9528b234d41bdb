"""Peers without machines: they enrol, stay in sync, and tell what changes."""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import grpc
from nacl.public import PrivateKey

from meshmgmt.control.agent import Agent, Follower
from meshmgmt.control.protocol.management_pb2 import NetworkMap

AT_ONCE: Final = 20

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Simulation:
    """`number` peers named sim-1, sim-2, ...; the same keys on every run."""

    url: str
    setup_key: str
    secret: str
    number: int
    tell: Tell

    async def run(self, *, remove: bool) -> None:
        """Run until cancelled; with `remove` the peers are deleted then.

        Raises grpc.aio.AioRpcError when a peer is refused.
        """
        agents = [self._agent(number) for number in range(1, self.number + 1)]
        try:
            await self._enrol(agents)
            await asyncio.gather(*(self._follow(agent) for agent in agents))
        finally:
            if remove:
                await asyncio.gather(*(agent.logout() for agent in agents))
                self.tell(f"{len(agents)} peers removed")
            for agent in agents:
                await agent.close()

    def _agent(self, number: int) -> Agent:
        # By the secret of the deployment, so nobody else has these private keys.
        seed = hashlib.blake2b(
            self.secret.encode(), digest_size=32, salt=number.to_bytes(8)
        )
        return Agent(
            self.url, hostname=f"sim-{number}", private_key=PrivateKey(seed.digest())
        )

    async def _enrol(self, agents: list[Agent]) -> None:
        places = asyncio.Semaphore(AT_ONCE)

        async def one(agent: Agent) -> None:
            async with places:
                answer = await agent.login(self.setup_key)
                config = answer.peerConfig
                self.tell(f"{agent.meta.hostname}  {config.address}  {config.fqdn}")

        await asyncio.gather(*(one(agent) for agent in agents))

    async def _follow(self, agent: Agent) -> None:
        follower = Follower(agent)
        following = asyncio.create_task(follower.run())
        try:
            before = NetworkMap()
            while not following.done():
                changed = asyncio.create_task(follower.changed.wait())
                await asyncio.wait(
                    {changed, following}, return_when=asyncio.FIRST_COMPLETED
                )
                changed.cancel()
                if follower.changed.is_set():
                    # First: if the map changes while it is told, there is another round.
                    follower.changed.clear()
                    self.tell(
                        f"{agent.meta.hostname}  {difference(before, follower.map)}"
                    )
                    before = follower.map
            following.result()
        except grpc.aio.AioRpcError as error:
            self.tell(f"{agent.meta.hostname}  {error.details()}")
        finally:
            following.cancel()


def difference(before: NetworkMap, after: NetworkMap) -> str:
    """Return what a map holds, and which peers came and went since the one before."""
    old = {peer.fqdn for peer in before.remotePeers}
    new = {peer.fqdn for peer in after.remotePeers}
    counts = (
        f"{len(after.remotePeers)} peers",
        f"{len(after.FirewallRules)} rules",
        f"{len(after.Routes)} routes",
        f"{len(after.DNSConfig.CustomZones)} zones",
        f"{len(after.DNSConfig.NameServerGroups)} nameserver groups",
    )
    text = f"map {after.Serial}: {', '.join(counts)}"
    came, went = sorted(new - old), sorted(old - new)
    named = [f"+{name}" for name in came[:5]] + [f"-{name}" for name in went[:5]]
    more = len(came[5:]) + len(went[5:])
    if more:
        named.append(f"and {more} more")
    return "  ".join([text, *named])
