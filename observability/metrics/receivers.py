"""What lower rooms tell by signals, as metrics: the write lock, refusals by a limit."""

from typing import Final

from meshmgmt.api.limits import request_refused
from meshmgmt.core import transactions
from observability.metrics import instruments

_WAITED: Final = instruments.histogram(
    "management.store.global.lock.acquisition.duration.micro"
)
_HELD: Final = instruments.histogram(
    "management.store.global.lock.acquisition.duration.ms"
)
_LIMITED: Final = instruments.counter("mesh.requests.limited.total")


def register() -> None:
    """Measure from now on."""
    transactions.lock_waited.connect(_waited, dispatch_uid="observability.waited")
    transactions.lock_held.connect(_held, dispatch_uid="observability.held")
    request_refused.connect(_limited, dispatch_uid="observability.limited")


def _waited(seconds: float, **_: object) -> None:
    _WAITED.observe(seconds * 1_000_000)


def _held(seconds: float, **_: object) -> None:
    _HELD.observe(seconds * 1000)


def _limited(caller: str, **_: object) -> None:
    _LIMITED.labels(caller=caller).inc()
