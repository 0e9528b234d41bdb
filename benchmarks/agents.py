"""Many agents in a process of their own, which read bytes and note when they came.

`python -m benchmarks.agents URL COUNT [BEGIN]`; the keys are those of `private_key(n)`,
from n = BEGIN (0) on. Takes lines on standard input and answers each with a line of JSON:
`connect` opens all streams, `drop` closes them, `await SINCE NUMBER SECONDS` waits until
NUMBER agents had a message after SINCE (monotonic clock) and tells when the first and the
last one had theirs.
"""

import asyncio
import gc
import hashlib
import json
import os
import resource
import sys
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import grpc
from nacl.public import PrivateKey

from meshmgmt.control.agent import Agent
from meshmgmt.control.protocol import management_pb2 as pb

SYNC = "/management.ManagementService/Sync"


def private_key(number: int) -> PrivateKey:
    """Return the key of the agent with that number."""
    return PrivateKey(hashlib.sha256(f"bench {number}".encode()).digest())


@dataclass
class Crowd:
    """The agents and what they got."""

    url: str
    count: int
    begin: int = 0
    arrivals: dict[int, list[float]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)
    breaks: int = 0
    told: set[str] = field(default_factory=set)

    def tell(self, trouble: str) -> None:
        """Print what goes wrong once, though thousands may see it."""
        if trouble not in self.told:
            print(trouble, file=sys.stderr)
        self.told.add(trouble)

    async def follow(self, number: int) -> None:
        """Keep one agent's stream open."""
        pause = 0.5
        while True:
            async with Agent(self.url, private_key=private_key(number)) as agent:
                try:
                    box = await agent.server_box()
                    request = agent.sealed(box, pb.SyncRequest(meta=agent.meta))
                    call: Any = agent.channel.unary_stream(
                        SYNC, request_serializer=pb.EncryptedMessage.SerializeToString
                    )(request)
                    async for message in call:
                        self.arrivals.setdefault(number, []).append(time.monotonic())
                        self.sizes[number] = len(message)
                except grpc.aio.AioRpcError as error:
                    self.tell(f"{error.code()} {error.details()}")
            self.breaks += 1
            await asyncio.sleep(pause)
            pause = min(10.0, pause * 1.7)

    async def connect(self) -> dict[str, Any]:
        """Open all streams at once, or as fast as one process can."""
        begun = time.monotonic()
        self.tasks = []
        for number in range(self.begin, self.begin + self.count):
            self.tasks.append(asyncio.create_task(self.follow(number)))
            if number % 20 == 0:  # or the first one would wait for the last one's turn
                await asyncio.sleep(0.001)
        return {"at": begun}

    async def drop(self) -> dict[str, Any]:
        """Hang up."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks = []
        gc.collect()  # a second's work for 5,000: no server answers for it in a storm
        await asyncio.sleep(0)
        return {"at": time.monotonic()}

    async def wait(self, since: float, number: int, seconds: float) -> dict[str, Any]:
        """Wait for the first message that each agent had after `since`."""
        deadline = time.monotonic() + seconds
        while True:
            times = sorted(
                arrived[place] - since
                for arrived in self.arrivals.values()
                if (place := bisect_right(arrived, since)) < len(arrived)
            )
            if len(times) >= number or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        return {
            "number": len(times),
            "first": times[0] if times else None,
            "last": times[-1] if times else None,
            "bytes": sum(self.sizes.values()),
            "breaks": self.breaks,
        }


async def main(url: str, count: int, begin: int = 0) -> None:
    """Obey standard input until it ends."""
    crowd = Crowd(url, count, begin)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while words := (await reader.readline()).decode().split():
        match words:
            case ["connect"]:
                answer = await crowd.connect()
            case ["drop"]:
                answer = await crowd.drop()
            case ["sizes"]:
                answer = {"sizes": crowd.sizes}
            case ["await", since, number, seconds]:
                answer = await crowd.wait(float(since), int(number), float(seconds))
            case _:
                raise ValueError(words)
        print(json.dumps(answer), flush=True)
    await crowd.drop()


if __name__ == "__main__":
    os.nice(10)  # agents run elsewhere, and take nothing from the API
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
