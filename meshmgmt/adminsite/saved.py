"""Messages about a write know its request, for pages to say what became of it."""

from typing import Any, Final

from django.contrib import messages

from meshmgmt.core import context

_MARK: Final = "saved-"


def tags_of(level: int | str, tags: str) -> str:
    """Return the tags of a message: one of success tells of a write of this request."""
    if level != messages.SUCCESS:
        return tags
    return f"{tags} {_MARK}{context.current().request_id}".strip()


def request_of(message: Any) -> str:
    """Return the id of the request that a message tells of, "" without one."""
    words = (message.extra_tags or "").split()
    return next((w.removeprefix(_MARK) for w in words if w.startswith(_MARK)), "")
