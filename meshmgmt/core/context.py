"""Who acts, in which request and account: what logs and the audit trail need everywhere.

Kept in one context variable, so nothing has to be handed down through calls. Outside a
request the actor is the system. The id of the account is provided by the room that stores
it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Actor:
    """The initiator of a change, copied by value so that it survives the user."""

    id: str
    name: str = ""
    email: str = ""


SYSTEM: Final = Actor(id="system")


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What is known about the work at hand; empty strings where unknown."""

    request_id: str = ""
    client_request_id: str = ""
    account_id: str = ""
    user_id: str = ""
    peer_id: str = ""
    token_id: str = ""
    source_address: str = ""
    path: str = ""
    reason: str = ""
    actor: Actor = SYSTEM
    unattended: bool = False
    """What writes is a machine or a job: it reports, and no promise refuses it."""


_context: ContextVar[RequestContext] = ContextVar("request", default=RequestContext())


def current() -> RequestContext:
    """Return the context of the running request, command or job."""
    return _context.get()


def update(**facts: Any) -> None:
    """Set the given fields for the rest of the running request."""
    _context.set(replace(_context.get(), **facts))


@contextmanager
def scope(context: RequestContext | None = None, **facts: Any) -> Iterator[None]:
    """Run a block in `context` (default: the current one) with `facts` changed."""
    base = _context.get() if context is None else context
    token = _context.set(replace(base, **facts))
    try:
        yield
    finally:
        _context.reset(token)


class _Account:
    """The id of the one account of this deployment, asked for once per process."""

    provider: Callable[[], str] | None = None
    id: str = ""


def provide_account_id(provider: Callable[[], str]) -> None:
    """Set the function that reads the id, "" when there is no account yet."""
    _Account.provider = provider


def forget_account() -> None:
    """Ask again next time: the account was created or replaced."""
    _Account.id = ""


def known_account_id() -> str:
    """Return the account's id if it was asked for before, else "": no query."""
    return _Account.id


def account_id() -> str:
    """Return the account's id, "" before the database is set up."""
    # "" is asked for again: the account may have come meanwhile.
    if not _Account.id and _Account.provider is not None:
        _Account.id = _Account.provider()
    return _Account.id
