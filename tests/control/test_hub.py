"""What the hub sends to the streams of a process."""

import asyncio
import time
from typing import Any

import pytest
from nacl.public import Box, PrivateKey

from meshmgmt import env
from meshmgmt.control.server.envelope import Envelopes
from meshmgmt.control.server.hub import Hub
from meshmgmt.control.server.streams import Streams
from meshmgmt.control.server.tasks import Places
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services.logins import Session
from meshmgmt.inventory.services.peers import peer_update
from tests.control.agents import run, until
from tests.factories import group, peer, rule

pytestmark = pytest.mark.django_db(transaction=True)


class Wire:
    """A connection of an agent, which keeps what is written."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    async def write(self, envelope: Any) -> None:
        self.written.append(envelope)


@pytest.mark.usefixtures("connections_that_end")
def test_a_replaced_stream_takes_no_map_from_the_one_that_replaced_it():
    web, db = peer("web"), peer("db")
    both = group("both", web, db)
    rule([both], [both])
    private = PrivateKey.generate()
    box = Box(private, private.public_key)

    async def scenario() -> None:
        hub = Hub(env.load({}), Envelopes("a"), Streams(), Threads(1, "test"))
        hub._turns = Places(1)
        wires: Any = Wire(), Wire()
        tasks = [asyncio.create_task(hub.run())]
        await hub.fresh()
        older = hub.streams.open(Session(web.pk, None), box, wires[0])
        async with hub._turns.one() as place:
            older.changed(time.monotonic())
            tasks.append(asyncio.create_task(hub.serve(older)))
            await asyncio.sleep(0)  # until it waits for its turn
            newer = hub.streams.open(Session(web.pk, None), box, wires[1])
            await hub._send(newer, hub.messages.first, place)
            await hub.threads.run(peer_update, peer_id=db.pk, name="storage")
            await hub.fresh()
        await tasks[-1]
        tasks.append(asyncio.create_task(hub.serve(newer)))
        await until(lambda: newer.held == hub.serial)
        assert [len(wire.written) for wire in wires] == [0, 2]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for threads in (hub.threads, hub.maps):
            await asyncio.to_thread(threads.close)

    run(scenario())
