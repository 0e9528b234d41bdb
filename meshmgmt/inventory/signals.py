"""What other rooms are told of the inventory, within the write that does it."""

from collections.abc import Mapping
from typing import Final

from django.dispatch import Signal

from meshmgmt.core import context

MAX_NAMED: Final = 5

peers_deleting: Final = Signal()
"""Sent with `ids`, so that every room takes the peers out of its lists."""

resources_deleting: Final = Signal()
"""Sent with `ids`, so that every room takes the resources out of its lists."""


def tell_deletion(signal: Signal, kind: str, names: Mapping[str, str]) -> None:
    """Send that objects (name by id) go: the reason of all that receivers write."""
    shown = ", ".join(repr(name) for name in list(names.values())[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    reason = f"{kind}s {shown}{f' and {more} more' if more > 0 else ''} were deleted"
    if len(names) == 1:
        reason = f"{kind} {shown} was deleted"
    with context.scope(reason=reason):
        signal.send(sender=None, ids=list(names))
