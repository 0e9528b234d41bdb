"""What the audit trail tells pages of the admin site; the room of events answers."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from django.http import HttpRequest

from meshmgmt.core.registry import Registry


class Trail(Protocol):
    """What the room of events can do for a page."""

    def last_change(self, key: str) -> str:
        """Return who changed the object of that key last, and when; "" if unknown."""

    def foresee(self, request: HttpRequest, write: Callable[[], None]) -> list[Any]:
        """Return a line for each thing that a write would do; nothing of it stays.

        Raises what the write raises.
        """


_trail: Final = Registry[str, Trail]()


def register(trail: Trail) -> None:
    """Set who answers."""
    _trail.add("trail", trail)


def trail() -> Trail:
    """Return who answers."""
    return _trail.only
