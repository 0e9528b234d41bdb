"""What is shown of subscriptions."""

from collections.abc import Sequence
from typing import Any, Final

from meshmgmt.core import clock
from meshmgmt.delivery.feeds import waiting_since
from meshmgmt.delivery.models import DeadLetter, Subscription

SHOWN_LETTERS: Final = 1000
_COLUMNS: Final = (
    *("id", "name", "stream", "filters", "target", "enabled", "created_at"),
)
_STATE: Final = (
    *("failures", "next_attempt", "last_success", "last_error", "replay_from"),
    *("replay_until", "test_asked", "test_result"),
)


def subscription_rows(ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return subscriptions, in the order of creation, without secrets and state."""
    found = Subscription.objects.order_by("id")
    if ids is not None:
        found = found.filter(pk__in=ids)
    return list(found.values(*_COLUMNS))


def state_row(subscription: Subscription) -> dict[str, Any]:
    """Return how far the sending has come."""
    state = {name: getattr(subscription, name) for name in _STATE}
    letters = DeadLetter.objects.filter(subscription=subscription).count()
    lag = lag_seconds(subscription)
    return {"id": subscription.pk, **state, "lag_seconds": lag, "dead_letters": letters}


def lag_seconds(subscription: Subscription) -> float:
    """Return the age of the oldest event that is still to be sent or passed over."""
    since = waiting_since(subscription)
    if since is None:
        return 0.0
    return max(0.0, (clock.now() - since).total_seconds())


def lags() -> dict[tuple[str, ...], float]:
    """Return the lag of each enabled subscription by its id, for metrics."""
    found = Subscription.objects.filter(enabled=True)
    return {(one.pk,): lag_seconds(one) for one in found}


def letter_rows(subscription: Subscription) -> list[dict[str, Any]]:
    """Return the newest dead letters, newest first."""
    letters = DeadLetter.objects.filter(subscription=subscription).order_by("-id")
    columns = ("event_id", "event_time", "error", "created_at")
    rows: list[dict[str, Any]] = list(letters.values(*columns)[:SHOWN_LETTERS])
    return rows
