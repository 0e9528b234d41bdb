"""gRPC's own services, for load balancers and tools: health and reflection.

Anybody may open a stream of theirs, for as long as it likes, so there are few.
"""

from collections.abc import Iterable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from meshmgmt.control.server.guests import Crowd
from meshmgmt.control.server.status import Context, rpc, source_of


class Health(health.aio.HealthServicer):
    """Tells whether the services are there."""

    def __init__(self, crowd: Crowd) -> None:
        super().__init__()
        self._crowd = crowd

    @rpc
    async def Watch(self, request: Any, context: Context) -> None:
        with self._crowd.one(source_of(context)):
            await super().Watch(request, context)


class Reflection(reflection.aio.ReflectionServicer):
    """Tells what the services can do."""

    def __init__(self, names: Iterable[str], crowd: Crowd) -> None:
        super().__init__(names)
        self._crowd = crowd

    @rpc
    async def ServerReflectionInfo(self, requests: Any, context: Context) -> None:
        with self._crowd.one(source_of(context)):
            async for answer in super().ServerReflectionInfo(requests, context):
                await context.write(answer)


def add_standard_services(server: grpc.aio.Server, names: Iterable[str]) -> Health:
    """Have a server tell of its services; return what their state is to be told to."""
    crowd = Crowd()
    kept = Health(crowd)
    health_pb2_grpc.add_HealthServicer_to_server(kept, server)
    listed = (*names, health.SERVICE_NAME, reflection.SERVICE_NAME)
    told = Reflection(listed, crowd)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(told, server)
    return kept
