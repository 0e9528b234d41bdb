"""`management.ProxyService`: access logs of reverse proxies.

There are no mappings to give out: a proxy is told so once, and then hears nothing.
"""

import asyncio
from typing import Any

from meshmgmt.control.protocol import proxy_pb2 as pb
from meshmgmt.control.protocol.proxy_pb2_grpc import ProxyServiceServicer
from meshmgmt.control.server.attempts import Attempts
from meshmgmt.control.server.status import Context, metadata_of, rpc, source_of
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import proxies
from meshmgmt.control.services.refusals import Code, Refused


class ProxyService(ProxyServiceServicer):
    """Every call brings a token; an address with too many wrong ones must wait."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.attempts = Attempts(burst=5, per_minute=5)

    @rpc
    async def SendAccessLog(
        self, request: pb.SendAccessLogRequest, context: Context
    ) -> pb.SendAccessLogResponse:
        """Store one entry; it is committed when this returns."""
        await self._admit(context)
        await self.threads.run(proxies.store_proxy_logs, [request.log])
        return pb.SendAccessLogResponse()

    @rpc
    async def SyncMappings(self, requests: Any, context: Context) -> None:
        """Say that there are no mappings."""
        await self._admit(context)
        async for request in requests:
            if request.HasField("init"):
                done = pb.SyncMappingsResponse(initial_sync_complete=True)
                await context.write(done)

    @rpc
    async def GetMappingUpdate(
        self, request: pb.GetMappingUpdateRequest, context: Context
    ) -> None:
        """Say that there are no mappings, and stay open."""
        await self._admit(context)
        await context.write(pb.GetMappingUpdateResponse(initial_sync_complete=True))
        await asyncio.Event().wait()

    async def _admit(self, context: Context) -> None:
        source = source_of(context)
        if self.attempts.blocked(source):
            raise Refused(Code.RESOURCE_EXHAUSTED, "too many wrong tokens: try later")
        said = metadata_of(context).get("authorization", "")
        try:
            await self.threads.run(proxies.check_proxy_token, said)
        except Refused:
            self.attempts.failed(source)
            raise
