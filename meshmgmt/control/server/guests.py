"""Streams of callers who have not shown yet that they are peers: few, and not for long.

Signal and Job take anybody's connection, and a silent stream costs memory. So a stream
stays once it has named the key of a peer, and each key has few.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from meshmgmt.control.server.threads import Batches, Threads
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.control.services.reporting import known_peers
from meshmgmt.core.addresses import site

GUESTS: Final = 2000
PER_ADDRESS: Final = 500
"""Many peers may come back at once from behind one address."""
PATIENCE_SECONDS: Final = 10.0
PER_KEY: Final = 4
"""Streams of a kind: an agent has one, and for a while the one that broke."""

STRANGER: Final = "this key is of no peer"
NAMELESS: Final = "the stream did not say in time whose it is"
CROWDED: Final = "too many streams did not say whose they are: try again"
ENOUGH: Final = f"this key has {PER_KEY} streams already"


@contextmanager
def one_more(here: Counter[str], name: str) -> Iterator[None]:
    """Count somebody for the time of a block; names of nobody take up no memory."""
    here[name] += 1
    try:
        yield
    finally:
        here[name] -= 1
        if not here[name]:
            del here[name]


class Crowd:
    """Counts the streams of nobody known by their addresses."""

    def __init__(self) -> None:
        self._here: Counter[str] = Counter()

    @contextmanager
    def one(self, source: str) -> Iterator[None]:
        """Count a stream from an address for a block. Raises Refused where many are."""
        address = site(source)
        if self._here[address] >= PER_ADDRESS or self._here.total() >= GUESTS:
            raise Refused(Code.RESOURCE_EXHAUSTED, CROWDED)
        with one_more(self._here, address):
            yield


class Guests:
    """Lets streams of a kind in that name the key of a peer."""

    def __init__(self, threads: Threads) -> None:
        self._crowd = Crowd()
        self._known: Batches[str, bool] = Batches(threads, are_known)

    async def identified(self, source: str, named: Callable[[], Awaitable[str]]) -> str:
        """Return the key of a peer that a stream from an address names in time.

        Raises Refused.
        """
        with self._crowd.one(source):
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    key = await named()
            except TimeoutError:
                raise Refused(Code.UNAUTHENTICATED, NAMELESS) from None
            if not await self._known.one(key):
                # Not PERMISSION_DENIED, at which agents restart without end.
                raise Refused(Code.UNAUTHENTICATED, STRANGER)
            return key


class Seats:
    """Counts the streams of each key."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    @contextmanager
    def one(self, key: str) -> Iterator[None]:
        """Take a seat for the time of a block. Raises Refused when the key has enough."""
        if self._taken[key] >= PER_KEY:
            raise Refused(Code.RESOURCE_EXHAUSTED, ENOUGH)
        with one_more(self._taken, key):
            yield


def are_known(keys: list[str]) -> list[bool | Exception]:
    """Return for each public key whether it is one of a peer."""
    known = known_peers(keys)
    return [key in known for key in keys]
