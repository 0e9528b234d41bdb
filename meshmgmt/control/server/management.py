"""`management.ManagementService`: what agents call. Calls that are not here are
UNIMPLEMENTED, which agents take in their stride.
"""

import time
from functools import partial
from typing import Any, Final

from google.protobuf.message import Message
from grpc import StatusCode

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol.management_pb2_grpc import ManagementServiceServicer
from meshmgmt.control.server.bus import Bus
from meshmgmt.control.server.envelope import Envelopes, Opened
from meshmgmt.control.server.guests import NAMELESS, Guests, KeyLogins, Seats
from meshmgmt.control.server.hub import Hub
from meshmgmt.control.server.jobs import Jobs
from meshmgmt.control.server.status import Context, rpc, source_of
from meshmgmt.control.server.streams import Ending
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import logins, sessions, sso
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import context as facts
from observability.logins import observe_login
from observability.metrics import instruments

NOT_EXPOSED: Final = "this server does not expose services of peers"
Sealed = pb.EncryptedMessage
"""A message in its envelope, of a peer or to it."""

_SYNCS: Final = instruments.counter("management.grpc.sync.request.counter")
_SYNC_DURATION: Final = instruments.histogram(
    "management.grpc.sync.request.duration.ms"
)


class ManagementService(ManagementServiceServicer):
    """Decodes, asks the domain in a thread, encodes."""

    def __init__(
        self, envelopes: Envelopes, threads: Threads, hub: Hub, jobs: Jobs, bus: Bus
    ) -> None:
        self.envelopes = envelopes
        self.threads = threads
        self.hub = hub
        self.jobs = jobs
        self.bus = bus
        self.guests = Guests(threads)
        self.job_seats = Seats()
        self.key_logins = KeyLogins()

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
    async def Login(self, request: Sealed, context: Context) -> Sealed:
        """Let a peer in, or enrol it."""
        begun = time.perf_counter()
        opened = self.envelopes.open(request, pb.LoginRequest)
        try:
            peer = await self._let_in(opened, source_of(context))
        except Refused:
            observe_login(
                peer_id="", seconds=time.perf_counter() - begun, succeeded=False
            )
            raise
        facts.update(peer_id=peer.peer_id)
        response = await self.hub.logins.one(peer)
        observe_login(peer_id=peer.peer_id, seconds=time.perf_counter() - begun)
        return self._sealed(opened, response)

    async def _let_in(
        self, opened: Opened[pb.LoginRequest], source: str
    ) -> logins.Session:
        login = partial(logins.login, opened.public_key, opened.message, source)
        if opened.message.setupKey:
            return await self.key_logins.run(source, login)
        return await self.threads.run(login)

    @rpc
    async def Sync(self, request: Sealed, context: Context) -> None:
        """Send the first map, and the newest one whenever it changes."""
        begun = time.perf_counter()
        _SYNCS.inc()
        stream = await self.hub.open(request, source_of(context), context)
        try:
            _SYNC_DURATION.observe((time.perf_counter() - begun) * 1000)
            self.bus.stream_opened(stream.peer_id, stream.started)
            await self.hub.serve(stream)
        finally:
            self.hub.streams.close(stream)

    @rpc
    async def SyncMeta(self, request: Sealed, context: Context) -> pb.Empty:
        """Take in what a peer reports about itself."""
        opened = self.envelopes.open(request, pb.SyncMetaRequest)
        await self.threads.run(
            sessions.open_sync,  # reporting anew obeys the same rules
            opened.public_key,
            opened.message.meta,
            source_of(context),
        )
        self.hub.want()
        return pb.Empty()

    @rpc
    async def Logout(self, request: Sealed, context: Context) -> pb.Empty:
        """Delete a peer at its own wish."""
        opened = self.envelopes.open(request, pb.Empty)
        # Nothing in an envelope names its method: others would be as good, and answers.
        if opened.message.ByteSize():
            raise Refused(Code.INVALID_ARGUMENT, "this is no Logout")
        peer_id = await self.threads.run(
            sessions.logout, opened.public_key, request.body
        )
        if (stream := self.hub.streams.get(peer_id)) is not None:
            stream.end(Ending.REFUSED)
        self.hub.want()
        return pb.Empty()

    @rpc
    async def Job(self, requests: Any, context: Context) -> None:
        """Pass on what the peer is asked to do, and what it answers."""
        # Agents may wait for a header before they send anything.
        await context.send_initial_metadata(())
        opened: list[Opened[pb.JobRequest]] = []

        async def named() -> str:
            opened.append(await self._greeting(requests))
            return opened[0].public_key

        key = await self.guests.identified(source_of(context), named)
        with self.job_seats.one(key):
            await self.jobs.serve(opened[0], requests, context)

    async def _greeting(self, requests: Any) -> Opened[pb.JobRequest]:
        """Return the first message of a stream. Raises Refused."""
        async for envelope in requests:
            return self.envelopes.open(envelope, pb.JobRequest)
        raise Refused(Code.INVALID_ARGUMENT, NAMELESS)

    @rpc
    async def GetPKCEAuthorizationFlow(
        self, request: Sealed, context: Context
    ) -> Sealed:
        """Return how a client signs its user in with a browser."""
        opened = self.envelopes.open(request, pb.Empty)
        return self._sealed(opened, await self.threads.run(sso.pkce_flow))

    @rpc
    async def GetDeviceAuthorizationFlow(
        self, request: Sealed, context: Context
    ) -> Sealed:
        """Return how a client signs its user in with a code."""
        opened = self.envelopes.open(request, pb.Empty)
        return self._sealed(opened, await self.threads.run(sso.device_flow))

    @rpc
    async def ExtendAuthSession(self, request: Sealed, context: Context) -> Sealed:
        """Let a session begin anew."""
        opened = self.envelopes.open(request, pb.ExtendAuthSessionRequest)
        until = await self.threads.run(
            sessions.extend_session,
            opened.public_key,
            opened.message.jwtToken,
            opened.message.meta,
            source_of(context),
        )
        response = pb.ExtendAuthSessionResponse()
        response.sessionExpiresAt.FromDatetime(until)
        self.hub.want()
        return self._sealed(opened, response)

    @rpc
    async def CreateExpose(self, request: Any, context: Context) -> None:
        """Refuse: services of peers are not exposed."""
        await context.abort(StatusCode.UNIMPLEMENTED, NOT_EXPOSED)

    RenewExpose = StopExpose = CreateExpose

    def _sealed(self, opened: Opened[Any], message: Message) -> Sealed:
        return self.envelopes.seal(opened.box, message.SerializeToString())
