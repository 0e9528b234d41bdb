"""The one way in which tests wait: for a condition, and not for ever."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

PATIENCE: Final = 60.0
POLL_SECONDS: Final = 0.02
T = TypeVar("T")


def until(
    read: Callable[[], T],
    what: str | Callable[[], object] = "what is waited for",
    patience: float = PATIENCE,
) -> T:
    """Return the first true value of `read`, asked again and again for a while.

    `what` says what did not come; a function says it when it has not.
    """
    end = time.monotonic() + patience
    while not (found := read()):
        late = time.monotonic() > end
        assert not late, (
            f"not within {patience} s: {what() if callable(what) else what}"
        )
        time.sleep(POLL_SECONDS)
    return found
