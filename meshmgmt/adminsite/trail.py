"""What the audit trail tells pages of the admin site, and the write a message tells of."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from django.contrib import messages
from django.http import HttpRequest

from meshmgmt.core import context
from meshmgmt.core.registry import Registry

_MARK: Final = "saved-"
"""Begins the tag of a message that has the id of a request."""


class Trail(Protocol):
    """What the room of events can do for a page."""

    def last_change(self, key: str) -> str:
        """Return who changed the object of that key last, and when; "" if unknown."""

    def foresee(self, request: HttpRequest, write: Callable[[], None]) -> list[Any]:
        """Return a line for each thing that a write would do; nothing of it stays.

        Raises what the write raises.
        """


trails: Final = Registry[str, Trail]()
"""Who answers."""


def tags_of(level: int | str, tags: str) -> str:
    """Return the tags of a message: one of success tells of a write of this request."""
    if level != messages.SUCCESS:
        return tags
    return f"{tags} {_MARK}{context.current().request_id}".strip()


def request_of(message: Any) -> str:
    """Return the id of the request that a message tells of, "" without one."""
    words = (message.extra_tags or "").split()
    return next((w.removeprefix(_MARK) for w in words if w.startswith(_MARK)), "")
