"""The account write lock as metrics: how long it was waited for, and held."""

from typing import Final

from meshmgmt.core import transactions
from observability.metrics import instruments

_WAITED: Final = instruments.histogram(
    "management.store.global.lock.acquisition.duration.micro"
)
_HELD: Final = instruments.histogram(
    "management.store.global.lock.acquisition.duration.ms"
)


def _waited(sender: object, *, seconds: float, **_: object) -> None:
    del sender
    _WAITED.observe(seconds * 1_000_000)


def _held(sender: object, *, seconds: float, **_: object) -> None:
    del sender
    _HELD.observe(seconds * 1000)


def register() -> None:
    """Measure the lock from now on; called once all apps are ready."""
    transactions.lock_waited.connect(_waited, dispatch_uid="observability.waited")
    transactions.lock_held.connect(_held, dispatch_uid="observability.held")
