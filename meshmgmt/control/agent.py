"""A small agent of our own: what a peer does on the wire, without a tunnel.

    async with Agent("http://127.0.0.1:33073", hostname="web") as agent:
        await agent.login(setup_key="...")
        async for message in agent.sync():   # management.SyncResponse
            ...

Drives `manage.py simulate_peers`, the tests and the benchmarks. Refusals of the server
are raised as grpc.aio.AioRpcError.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import grpc
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from nacl.encoding import Base64Encoder
from nacl.public import Box, PrivateKey, PublicKey

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol.management_pb2_grpc import ManagementServiceStub
from meshmgmt.control.server.netbirdconfig import host_and_port

META: Final[Mapping[str, Any]] = {
    "hostname": "peer",
    "goOS": "linux",
    "kernel": "Linux",
    "core": "12",
    "platform": "x86_64",
    "OS": "Debian GNU/Linux",
    "OSVersion": "12",
    "netbirdVersion": "0.77.1",
    "kernelVersion": "6.1.0",
    "capabilities": ["PeerCapabilitySourcePrefixes", "PeerCapabilityIPv6Overlay"],
    "syncMessageVersion": 1,
}
# Each agent has a TCP connection of its own, and pings as real ones do.
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 16 * 2**20),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)
PATIENCE_SECONDS: Final = 30.0
_M = TypeVar("_M", bound=Message)


def channel_to(url: str, roots: bytes | None = None) -> grpc.aio.Channel:
    """Return a connection to `http(s)://HOST[:PORT]`; `roots` are PEM certificates."""
    if urlsplit(url).scheme == "https":
        trust = grpc.ssl_channel_credentials(roots)
        return grpc.aio.secure_channel(host_and_port(url), trust, _OPTIONS)
    return grpc.aio.insecure_channel(host_and_port(url), _OPTIONS)


class Agent:
    """One peer: its key, its connection, its calls."""

    def __init__(
        self,
        url: str,
        *,
        hostname: str = "peer",
        private_key: PrivateKey | None = None,
        roots: bytes | None = None,
        **meta: Any,
    ) -> None:
        self.private_key = private_key or PrivateKey.generate()
        self.public_key = self.private_key.public_key.encode(Base64Encoder).decode()
        facts = {**META, "hostname": hostname, **meta}
        self.meta = ParseDict(facts, pb.PeerSystemMeta())
        self.roots = roots
        self.channel = channel_to(url, roots)
        self.management: Any = ManagementServiceStub(self.channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up; open streams end."""
        await self.channel.close()

    async def server_box(self) -> Box:
        """Ask for the server's key, as agents do before each login and stream."""
        answer = await self.management.GetServerKey(
            pb.Empty(), wait_for_ready=True, timeout=PATIENCE_SECONDS
        )
        return Box(self.private_key, PublicKey(answer.key.encode(), Base64Encoder))

    def sealed(self, box: Box, message: Message) -> pb.EncryptedMessage:
        """Return a message in an envelope of this peer."""
        body = box.encrypt(message.SerializeToString())
        return pb.EncryptedMessage(wgPubKey=self.public_key, body=body)

    async def login(self, setup_key: str = "") -> pb.LoginResponse:
        """Log in; with a setup key an unknown peer is enrolled."""
        keys = pb.PeerKeys(wgPubKey=self.public_key.encode())
        request = pb.LoginRequest(setupKey=setup_key, meta=self.meta, peerKeys=keys)
        return await self.call("Login", request, pb.LoginResponse)

    async def call(self, name: str, request: Message, kind: type[_M]) -> _M:
        """Call an RPC that is sealed both ways."""
        box = await self.server_box()
        answer = await getattr(self.management, name)(self.sealed(box, request))
        message = kind()
        message.ParseFromString(box.decrypt(answer.body))
        return message

    async def sync(self) -> AsyncIterator[pb.SyncResponse]:
        """Open Sync and yield what the server sends until the stream ends."""
        box = await self.server_box()
        request = self.sealed(box, pb.SyncRequest(meta=self.meta))
        async for envelope in self.management.Sync(request):
            yield pb.SyncResponse.FromString(box.decrypt(envelope.body))

    async def logout(self) -> None:
        """Have the peer deleted."""
        box = await self.server_box()
        await self.management.Logout(self.sealed(box, pb.Empty()))


class Follower:
    """Keeps one agent in sync, as real ones do: after each break it tries again."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.serial = 0
        self.map = pb.NetworkMap()
        self.maps = 0
        self.breaks = 0
        self.changed = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled, or refused for good: then AioRpcError is raised."""
        pause = 0.5
        while True:
            try:
                async for message in self.agent.sync():
                    pause = 0.5
                    self._apply(message)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.PERMISSION_DENIED:
                    raise
            self.breaks += 1
            await asyncio.sleep(pause)
            # As the agents of the reference: at once at first, then ever less often.
            pause = min(10.0, pause * 1.7)

    def _apply(self, message: pb.SyncResponse) -> None:
        if message.HasField("NetworkMap") and message.NetworkMap.Serial >= self.serial:
            self.map = message.NetworkMap
            self.serial = message.NetworkMap.Serial
            self.maps += 1
            self.changed.set()
