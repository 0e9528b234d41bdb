"""The recorded account states once more: what agents are sent by a server, sealed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from meshmgmt import env
from meshmgmt.control.server.server import PeerServer
from tests.control import agents
from tests.control.agents import Agent
from tests.control.recordings import Playback, names
from tests.control.test_recorded_maps import assert_as_recorded, found_differences
from tests.servers import free_port

# Both databases give the same maps in test_recorded_maps: one is enough for the wire.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.sqlite,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.parametrize("name", names())
def test_every_peer_is_sent_the_recorded_map(name: str, tmp_path: Path):
    bind = f"127.0.0.1:{free_port()}"
    config = env.load({"SVC_GRPC_BIND": bind, "SVC_RUNTIME_DIR": str(tmp_path)})

    async def told(playback: Playback, labels: list[str]) -> dict[str, Any]:
        server, stopping, now = PeerServer(config), asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(server.run(stopping, now))
        try:
            return {label: await first_map(playback, label) for label in labels}
        finally:
            now.set()
            stopping.set()
            await serving
            for threads in (server.threads, server.upkeep, server.hub.maps):
                await asyncio.to_thread(threads.close)

    async def first_map(playback: Playback, label: str) -> dict[str, Any]:
        url, key = f"http://{bind}", playback.private_keys[label]
        async with Agent(url, private_key=key) as agent:
            agent.meta = playback.metas[label]
            async for message in agent.sync():
                message.ClearField("netbirdConfig")
                return playback.as_recorded(message)
        raise AssertionError(f"{label} was told nothing")

    def from_the_wire(playback: Playback, labels: list[str]) -> dict[str, Any]:
        connections.close_all()
        found: dict[str, Any] = agents.run(told(playback, labels))
        return found

    assert_as_recorded(name, list(found_differences(name, from_the_wire)))
