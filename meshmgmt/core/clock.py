"""The time as the service sees it; demo data is written under a shifted clock."""

import datetime as dt
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_shift: ContextVar[dt.timedelta] = ContextVar("clock_shift", default=dt.timedelta())


def now() -> dt.datetime:
    """Return the current moment in UTC."""
    return dt.datetime.now(dt.UTC) + _shift.get()


@contextmanager
def set_to(moment: dt.datetime) -> Iterator[None]:
    """Let `now()` run on from `moment` for the duration of the block."""
    token = _shift.set(moment - dt.datetime.now(dt.UTC))
    try:
        yield
    finally:
        _shift.reset(token)


def seconds_left(deadline: float) -> float:
    """Return the seconds up to a moment of the monotonic clock.

    Raises TimeoutError when it has passed: a socket takes a timeout of 0 as "never wait".
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def rfc3339(moment: dt.datetime | None) -> str | None:
    """Return `moment` as RFC 3339 in UTC with `Z`; microseconds only when not zero."""
    if moment is None:
        return None
    text = moment.astimezone(dt.UTC).isoformat()
    return text.removesuffix("+00:00") + "Z"
