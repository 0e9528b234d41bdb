"""Looking at the account as it was; the room that can do it registers itself."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

from meshmgmt.core import clock
from meshmgmt.core.errors import BadRequest
from meshmgmt.core.registry import Registry

At = Callable[[datetime], AbstractContextManager[None]]

PARAMETER: Final = "at"
accounts_at: Final = Registry[str, At]()
"""What shows the account as it was at a moment, for a block of reads."""
_moment: ContextVar[datetime | None] = ContextVar("shown_moment", default=None)


@contextmanager
def account_at(text: str) -> Iterator[None]:
    """Let a block of reads see the account as it was at a moment (RFC 3339).

    An empty text is now.
    Raises BadRequest for a text that is no such moment, InvalidArgument for one that
    the trail does not reach back to, or that does not lie in the past.
    """
    if not text:
        yield
        return
    moment = moment_of(text)
    with accounts_at.only(moment):
        token = _moment.set(moment)
        try:
            yield
        finally:
            _moment.reset(token)


def moment_of(text: str) -> datetime:
    """Return the moment that a text (RFC 3339) names. Raises BadRequest for another."""
    try:
        if "W" in text:  # which Python takes for its Monday
            raise ValueError("a week is no date")
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            zone = "time zone, such as Z for UTC"
            is_day = len(text) <= len("2026-01-31")
            lacking = f"time of day and its {zone}" if is_day else zone
            raise BadRequest(f"{PARAMETER}: must say its {lacking}")
        # Databases know fewer offsets than Python does.
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRequest(
            f"{PARAMETER}: must be a time as RFC 3339 writes it"
        ) from error


def is_past() -> bool:
    """Tell whether a block of reads sees the account as it was."""
    return _moment.get() is not None


def shown_moment() -> datetime:
    """Return the moment that a block of reads is about: that of `account_at`, or now."""
    return _moment.get() or clock.now()
