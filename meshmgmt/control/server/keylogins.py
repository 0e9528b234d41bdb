"""Logins with a setup key, which anybody may try: apart from the others, and few at once.

An address that showed too many wrong keys has few places, so that the right key of a
machine behind it still gets in when the flood lets it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from meshmgmt.api.limits import Limiter
from meshmgmt.control.server.guests import one_more
from meshmgmt.control.server.threads import Threads
from meshmgmt.control.services.refusals import Code, Refused, WrongKey
from meshmgmt.core.addresses import site
from meshmgmt.core.slidingwindow import Limit
from observability.logins import login_blocked

_R = TypeVar("_R")
WRONG_KEYS: Final = Limit(count=30, seconds=60)
"""Of one address, over all processes and hosts."""
AT_ONCE: Final = 2
SUSPECTS: Final = 2
"""Logins under way from one address that showed too many wrong keys."""
MOST: Final = 2000
"""Logins under way, of everybody."""


class KeyLogins:
    """Does them in threads of their own, and asks the limit in memory before that."""

    def __init__(self) -> None:
        self._threads = Threads(AT_ONCE, "keys")
        self._turns = asyncio.Semaphore(AT_ONCE)
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
        if (crowd and suspect) or self._under_way.total() - inside >= MOST:
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
