"""Requests that a rate limit refused, as a metric."""

from typing import Final

from meshmgmt.api.limits import request_refused
from observability.metrics import instruments

_LIMITED: Final = instruments.counter("mesh.requests.limited.total")


def _refused(sender: object, *, caller: str, **_: object) -> None:
    del sender
    _LIMITED.labels(caller=caller).inc()


def register() -> None:
    """Count refusals from now on; called once all apps are ready."""
    request_refused.connect(_refused, dispatch_uid="observability.limited")
