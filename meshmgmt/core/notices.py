"""What a server says on standard output when it starts, beside its logs.

Rooms register in their `ready()`; a notice may hold what must never be logged.
"""

from collections.abc import Callable

_notices: list[Callable[[], str]] = []


def register_start_notice(notice: Callable[[], str]) -> None:
    """Add a function that returns a text to print, "" for none."""
    _notices.append(notice)


def start_notices() -> list[str]:
    """Return the texts to print now."""
    return [text for notice in _notices if (text := notice())]
