"""Callers who have not shown yet that they are peers: few at once, and not for long.

Signal and Job take anybody's connection, and a silent stream costs memory. So a stream
stays once it has named the key of a peer, and each key has few. Anybody may try setup keys,
too: logins with them are apart from the others, and few at once. So are streams of
gRPC's own services, which load balancers and tools ask.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from meshmgmt.api.limits import Limiter
from meshmgmt.control.server.status import Context, rpc, source_of
from meshmgmt.control.server.threads import Batches, Threads
from meshmgmt.control.services.refusals import Code, Refused, WrongKey
from meshmgmt.control.services.reporting import known_peers
from meshmgmt.core.addresses import site
from meshmgmt.core.slidingwindow import Limit
from meshmgmt.inventory.rules import key_bytes
from observability.logins import login_blocked

GUESTS: Final = 2000
PER_ADDRESS: Final = 500
"""Many peers may come back at once from behind one address."""
PATIENCE_SECONDS: Final = 10.0
PER_KEY: Final = 4
"""Streams of a kind: an agent has one, and for a while the one that broke."""

WRONG_KEYS: Final = Limit(count=30, seconds=60)
"""Of one address, over all processes and hosts."""
LOGINS_AT_ONCE: Final = 2
SUSPECTS: Final = 2
"""Logins under way from one address that showed too many wrong keys."""
MOST_LOGINS: Final = 2000
"""Logins under way, of everybody."""

STRANGER: Final = "this key is of no peer"
NAMELESS: Final = "the stream did not say in time whose it is"
CROWDED: Final = "too many streams did not say whose they are: try again"
ENOUGH: Final = f"this key has {PER_KEY} streams already"

_R = TypeVar("_R")


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
            if not await self.is_peer(key):
                # Not PERMISSION_DENIED, at which agents restart without end.
                raise Refused(Code.UNAUTHENTICATED, STRANGER)
            return key

    async def is_peer(self, key: str) -> bool:
        """Tell whether a text is the public key of a peer."""
        try:
            key_bytes(key)
        except ValueError:  # others are asked about in the same statement
            return False
        return await self._known.one(key)


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


class KeyLogins:
    """Does logins with setup keys in threads of their own, and asks the limit before that.

    An address that showed too many wrong keys has few places, so that the right key of a
    machine behind it still gets in when the flood lets it.
    """

    def __init__(self) -> None:
        self._threads = Threads(LOGINS_AT_ONCE, "keys")
        self._turns = asyncio.Semaphore(LOGINS_AT_ONCE)
        self._wrong = Limiter(WRONG_KEYS, workers=1)
        self._under_way: Counter[str] = Counter()

    async def run(self, source: str, login: Callable[[], _R]) -> _R:
        """Return what `login` returns for a caller from an address. Raises Refused."""
        address = site(source)
        self._check(address)
        with one_more(self._under_way, address):
            async with self._turns:
                # Again: while it waited, others may have shown wrong keys.
                self._check(address, inside=1)
                return await self._tried(address, login)

    def _check(self, address: str, *, inside: int = 0) -> None:
        """Raise Refused for one of many with an address that showed wrong keys."""
        crowd = self._under_way[address] - inside >= SUSPECTS
        suspect = self._wrong.wait(_name(address)) > 0
        if (crowd and suspect) or self._under_way.total() - inside >= MOST_LOGINS:
            login_blocked()
            raise _too_many()

    async def _tried(self, address: str, login: Callable[[], _R]) -> _R:
        try:
            return await self._threads.run(login)
        except WrongKey:
            if await self._threads.run(self._wrong.take, _name(address)):
                login_blocked()
                raise _too_many() from None
            raise


def _name(address: str) -> str:
    return f"setup key {address}"


def _too_many() -> Refused:
    return Refused(Code.RESOURCE_EXHAUSTED, "too many wrong keys: try later")


class Health(health_pb2_grpc.HealthServicer):
    """Tells whether the services are there.

    grpc_health's own writes while it holds the lock that all others who watch wait for,
    and who stops the server: one client that reads nothing would keep them waiting.
    """

    def __init__(self, names: Iterable[str], crowd: Crowd) -> None:
        self._states = dict.fromkeys(("", *names), HealthCheckResponse.NOT_SERVING)
        self._changed = asyncio.Event()
        self._crowd = crowd

    def say(self, state: int) -> None:
        """Tell everybody what the services are from now on."""
        self._states = dict.fromkeys(self._states, state)
        self._changed.set()
        self._changed = asyncio.Event()

    @rpc
    async def Check(self, request: Any, context: Context) -> HealthCheckResponse:
        if request.service not in self._states:
            raise Refused(Code.NOT_FOUND, "no such service")
        return HealthCheckResponse(status=self._states[request.service])

    @rpc
    async def Watch(self, request: Any, context: Context) -> None:
        told = None
        with self._crowd.one(source_of(context)):
            while True:
                changed = self._changed
                unknown = HealthCheckResponse.SERVICE_UNKNOWN
                state = self._states.get(request.service, unknown)
                if state != told:
                    await context.write(HealthCheckResponse(status=state))
                    told = state
                await changed.wait()


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


def add_standard_services(server: grpc.aio.Server, names: Sequence[str]) -> Health:
    """Have a server tell of its services; return what their state is to be told to.

    Anybody may open a stream of gRPC's own services, for as long as it likes: few may be.
    """
    crowd = Crowd()
    kept = Health(names, crowd)
    health_pb2_grpc.add_HealthServicer_to_server(kept, server)
    listed = (*names, health.SERVICE_NAME, reflection.SERVICE_NAME)
    told = Reflection(listed, crowd)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(told, server)
    return kept
