"""`management.ProxyService`: access logs of reverse proxies.

There are no mappings to give out: a proxy is told so once, and then hears nothing.
"""

import asyncio
from typing import Any, Final

from meshmgmt.api.limits import Limiter
from meshmgmt.control.protocol import proxy_pb2 as pb
from meshmgmt.control.protocol.proxy_pb2_grpc import ProxyServiceServicer
from meshmgmt.control.server.status import Context, metadata_of, rpc, source_of
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services import proxies
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core.addresses import site
from meshmgmt.core.slidingwindow import Limit

WRONG_TOKENS: Final = Limit(count=5, seconds=60)
"""Of one address, over all processes and hosts."""


class ProxyService(ProxyServiceServicer):
    """Every call brings a token; an address with too many wrong ones must wait."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.wrong_tokens = Limiter(WRONG_TOKENS, workers=1)

    @rpc
    async def SendAccessLog(
        self, request: pb.SendAccessLogRequest, context: Context
    ) -> pb.SendAccessLogResponse:
        """Store one entry; it is committed when this returns."""
        await self._admit(context)
        await self.threads.run(proxies.store_proxy_log, request.log)
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
        # Ended, a proxy would ask again at once.
        await asyncio.Event().wait()

    async def _admit(self, context: Context) -> None:
        tries = f"proxy token {site(source_of(context))}"
        too_many = Refused(Code.RESOURCE_EXHAUSTED, "too many wrong tokens: try later")
        # In memory: most have shown none, and need no query for that.
        if self.wrong_tokens.wait(tries):
            raise too_many
        said = metadata_of(context).get("authorization", "")
        try:
            await self.threads.run(proxies.check_proxy_token, said)
        except Refused:
            if await self.threads.run(self.wrong_tokens.take, tries):
                raise too_many from None
            raise
