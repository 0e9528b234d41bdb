"""Who acts, in which request: facts that logs and the audit trail need everywhere.

Kept in one context variable, so nothing has to be handed down through calls. Outside a
request the actor is the system.
"""

from collections.abc import Iterator
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
