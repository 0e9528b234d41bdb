"""Looking at the account as it was; the room that can do it registers itself."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Final

from meshmgmt.core.errors import BadRequest

At = Callable[[datetime], AbstractContextManager[None]]

PARAMETER: Final = "at"
_at: list[At] = []


def register(at: At) -> None:
    """Set what shows the account as it was at a moment, for a block of reads."""
    _at[:] = [at]


def account_at(text: str) -> AbstractContextManager[None]:
    """Let a block of reads see the account as it was at a moment (RFC 3339).

    An empty text is now.
    Raises BadRequest for a text that is no such moment, InvalidArgument for one that
    the trail does not reach back to, or that does not lie in the past.
    """
    if not text:
        return nullcontext()
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise BadRequest(f"{PARAMETER}: must say its time zone, such as Z for UTC")
        # Databases know fewer offsets than Python does.
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadRequest(
            f"{PARAMETER}: must be a time as RFC 3339 writes it"
        ) from error
    return _at[0](moment)
