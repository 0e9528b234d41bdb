"""A server that pushes canned messages of given sizes: what pushing alone costs.

`python -m benchmarks.canned PORT SIZES.json`; a line on standard input pushes one message
to every stream, and is answered by the moment it began.
"""

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import django
import grpc

from benchmarks.agents import private_key
from meshmgmt.control.agent import Agent
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.protocol.management_pb2_grpc import (
    ManagementServiceServicer,
    add_ManagementServiceServicer_to_server,
)
from meshmgmt.control.server.envelope import Envelopes


class Canned(ManagementServiceServicer):
    """Answers as the real service does, without anything behind it."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.envelopes = Envelopes("canned")
        self.sizes = sizes
        self.streams: dict[str, Any] = {}

    async def GetServerKey(  # noqa: N802 - the protocol's name
        self, request: pb.Empty, context: Any
    ) -> pb.ServerKeyResponse:
        """Return a key."""
        return pb.ServerKeyResponse(key=self.envelopes.public_key)

    async def Sync(self, request: pb.EncryptedMessage, context: Any) -> None:  # noqa: N802
        """Send one message, and stay."""
        self.streams[request.wgPubKey] = context
        await self.push(request.wgPubKey)
        await asyncio.Event().wait()

    async def push(self, key: str) -> None:
        """Send a message of the size that the agent had from the real server."""
        body = bytes(self.sizes[key])
        await self.streams[key].write(pb.EncryptedMessage(wgPubKey=key, body=body))


async def main(port: int, sizes: dict[str, int]) -> None:
    """Serve until standard input ends."""
    django.setup()
    from meshmgmt.control.server.server import OPTIONS  # noqa: PLC0415 - needs the apps

    keys = {
        number: Agent("http://localhost:1", private_key=private_key(int(number)))
        for number in sizes
    }
    service = Canned({keys[n].public_key: size for n, size in sizes.items()})
    server = grpc.aio.server(options=(*OPTIONS, ("grpc.so_reuseport", 0)))
    add_ManagementServiceServicer_to_server(service, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    print(json.dumps({"at": time.monotonic()}), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while await reader.readline():
        print(json.dumps({"at": time.monotonic()}), flush=True)
        for key in service.streams:
            await service.push(key)
    await server.stop(0)


if __name__ == "__main__":
    os.nice(10)  # as the process that serves peers
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(main(int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())))
