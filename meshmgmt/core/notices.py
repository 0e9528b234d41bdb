"""What a server says on standard output when it starts, beside its logs.

Rooms register in their `room.py`; a notice may hold what must never be logged.
"""

from collections.abc import Callable
from typing import Final

from meshmgmt.core.registry import Registry

_notices: Final = Registry[Callable[[], str], Callable[[], str]]()


def register_start_notice(notice: Callable[[], str]) -> None:
    """Add a function that returns a text to print, "" for none."""
    _notices.add(notice, notice)


def start_notices() -> list[str]:
    """Return the texts to print now."""
    return [text for notice in _notices if (text := notice())]
