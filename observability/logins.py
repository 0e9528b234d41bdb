"""Peer logins: one function observes them all (seed, login latency threshold)."""

import logging
from typing import Final

from observability.metrics import instruments

HIGH_LATENCY_SECONDS: Final = 7.0
_LOG: Final = logging.getLogger(__name__)
_REQUESTS: Final = instruments.counter("management.grpc.login.request.counter")
_BLOCKED: Final = instruments.counter("management.grpc.login.request.blocked.counter")
_DURATION: Final = instruments.histogram("management.grpc.login.request.duration.ms")
_HIGH: Final = instruments.counter("management.grpc.login.request.high.latency.counter")


def observe_login(*, peer_id: str, seconds: float, succeeded: bool = True) -> None:
    """Count a login that took `seconds`; above 7 seconds warn and count it as slow.

    The duration of a refused login is no latency of the service's work, so only a
    successful one enters the histogram.
    """
    _REQUESTS.inc()
    if succeeded:
        _DURATION.observe(seconds * 1000)
    if seconds > HIGH_LATENCY_SECONDS:
        _HIGH.inc()
        facts = {"peer_id": peer_id, "duration_ms": round(seconds * 1000)}
        _LOG.warning("peer login took longer than 7 seconds", extra=facts)


def login_blocked() -> None:
    """Count a login that a filter refused."""
    _BLOCKED.inc()
