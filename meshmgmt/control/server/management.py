"""`management.ManagementService`: what agents call. Calls that are not here are
UNIMPLEMENTED, which agents take in their stride.
"""

import asyncio
import time
from typing import Any, Final

from google.protobuf.message import Message
from grpc import StatusCode

from meshmgmt.api.limits import Limiter
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol.management_pb2_grpc import ManagementServiceServicer
from meshmgmt.control.server.bus import Bus
from meshmgmt.control.server.envelope import Envelopes, Opened
from meshmgmt.control.server.hub import Hub
from meshmgmt.control.server.status import Context, rpc, source_of
from meshmgmt.control.server.streams import Ending
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import logins, sessions, sso
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import context as facts
from meshmgmt.core.addresses import site
from meshmgmt.core.slidingwindow import Limit
from observability.logins import login_blocked, observe_login
from observability.metrics import instruments

WRONG_KEYS: Final = Limit(count=30, seconds=60)
"""Of one address, over all processes and hosts."""
NOT_EXPOSED: Final = "this server does not expose services of peers"
_SYNCS: Final = instruments.counter("management.grpc.sync.request.counter")
_SYNC_DURATION: Final = instruments.histogram(
    "management.grpc.sync.request.duration.ms"
)


class ManagementService(ManagementServiceServicer):
    """Decodes, asks the domain in a thread, encodes."""

    def __init__(
        self, envelopes: Envelopes, threads: Threads, hub: Hub, bus: Bus
    ) -> None:
        self.envelopes = envelopes
        self.threads = threads
        self.hub = hub
        self.bus = bus
        self.wrong_keys = Limiter(WRONG_KEYS, workers=1)

    @rpc
    async def GetServerKey(
        self, request: pb.Empty, context: Context
    ) -> pb.ServerKeyResponse:
        """Return the key that envelopes are sealed for."""
        return pb.ServerKeyResponse(key=self.envelopes.public_key)

    @rpc
    async def isHealthy(self, request: pb.Empty, context: Context) -> pb.Empty:
        return pb.Empty()

    @rpc
    async def Login(
        self, request: pb.EncryptedMessage, context: Context
    ) -> pb.EncryptedMessage:
        """Let a peer in, or enrol it."""
        begun = time.perf_counter()
        opened = self.envelopes.open(request, pb.LoginRequest)
        source = source_of(context)
        try:
            peer = await self.threads.run(
                logins.login, opened.public_key, opened.message, source
            )
        except Refused as refusal:
            if opened.message.setupKey and refusal.code is Code.PERMISSION_DENIED:
                await self._wrong_key(source)
            observe_login(
                peer_id="", seconds=time.perf_counter() - begun, succeeded=False
            )
            raise
        facts.update(peer_id=peer.peer_id)
        response = await self.hub.login_response(peer)
        observe_login(peer_id=peer.peer_id, seconds=time.perf_counter() - begun)
        return self._sealed(opened, response)

    async def _wrong_key(self, source: str) -> None:
        """Count a wrong key. Raises Refused when there were too many of that address.

        Keys are looked up first: behind one address a machine with the right one must
        not wait for those with a wrong one, and looking up costs one indexed read.
        """
        if await self.threads.run(self.wrong_keys.take, f"setup key {site(source)}"):
            login_blocked()
            raise Refused(Code.RESOURCE_EXHAUSTED, "too many wrong keys: try later")

    @rpc
    async def Sync(self, request: pb.EncryptedMessage, context: Context) -> None:
        """Send the first map, and the newest one whenever it changes."""
        begun = time.perf_counter()
        opened = self.envelopes.open(request, pb.SyncRequest)
        _SYNCS.inc()
        stream = await self.hub.open(opened, source_of(context), context)
        try:
            _SYNC_DURATION.observe((time.perf_counter() - begun) * 1000)
            self.bus.stream_opened(stream.peer_id, stream.started)
            await self.hub.serve(stream)
        finally:
            self.hub.streams.close(stream)

    @rpc
    async def SyncMeta(
        self, request: pb.EncryptedMessage, context: Context
    ) -> pb.Empty:
        """Take in what a peer reports about itself."""
        opened = self.envelopes.open(request, pb.SyncMetaRequest)
        await self.threads.run(
            sessions.sync_meta,
            opened.public_key,
            opened.message.meta,
            source_of(context),
        )
        self.hub.want()
        return pb.Empty()

    @rpc
    async def Logout(self, request: pb.EncryptedMessage, context: Context) -> pb.Empty:
        """Delete a peer at its own wish."""
        opened = self.envelopes.open(request, pb.Empty)
        peer_id = await self.threads.run(sessions.logout, opened.public_key)
        if (stream := self.hub.streams.get(peer_id)) is not None:
            stream.end(Ending.REFUSED)
        self.hub.want()
        return pb.Empty()

    @rpc
    async def Job(self, requests: Any, context: Context) -> None:
        """Stay open and silent: there are no jobs, and an error restarts old agents."""
        await context.send_initial_metadata(())
        async for _ in requests:
            pass
        await asyncio.Event().wait()

    @rpc
    async def GetPKCEAuthorizationFlow(
        self, request: pb.EncryptedMessage, context: Context
    ) -> pb.EncryptedMessage:
        """Return how a client signs its user in with a browser."""
        opened = self.envelopes.open(request, pb.Empty)
        return self._sealed(opened, await self.threads.run(sso.pkce_flow))

    @rpc
    async def GetDeviceAuthorizationFlow(
        self, request: pb.EncryptedMessage, context: Context
    ) -> pb.EncryptedMessage:
        """Return how a client signs its user in with a code."""
        opened = self.envelopes.open(request, pb.Empty)
        return self._sealed(opened, await self.threads.run(sso.device_flow))

    @rpc
    async def ExtendAuthSession(
        self, request: pb.EncryptedMessage, context: Context
    ) -> pb.EncryptedMessage:
        """Let a session begin anew."""
        opened = self.envelopes.open(request, pb.ExtendAuthSessionRequest)
        session = await self.threads.run(
            sessions.extend_session,
            opened.public_key,
            opened.message.jwtToken,
            opened.message.meta,
            source_of(context),
        )
        response = pb.ExtendAuthSessionResponse()
        response.sessionExpiresAt.SetInParent()
        if session.session_expires_at is not None:
            response.sessionExpiresAt.FromDatetime(session.session_expires_at)
        self.hub.want()
        return self._sealed(opened, response)

    @rpc
    async def CreateExpose(self, request: Any, context: Context) -> None:
        """Refuse: services of peers are not exposed."""
        await context.abort(StatusCode.UNIMPLEMENTED, NOT_EXPOSED)

    @rpc
    async def RenewExpose(self, request: Any, context: Context) -> None:
        """Refuse, likewise."""
        await context.abort(StatusCode.UNIMPLEMENTED, NOT_EXPOSED)

    @rpc
    async def StopExpose(self, request: Any, context: Context) -> None:
        """Refuse, likewise."""
        await context.abort(StatusCode.UNIMPLEMENTED, NOT_EXPOSED)

    def _sealed(self, opened: Opened[Any], message: Message) -> pb.EncryptedMessage:
        return self.envelopes.seal(opened.box, message.SerializeToString())
