"""What is shown of subscriptions."""

from collections.abc import Sequence
from typing import Any, Final

from meshmgmt.core import clock
from meshmgmt.core.queries import narrowed
from meshmgmt.delivery.feeds import waiting_since
from meshmgmt.delivery.models import CONFIGURED, DeadLetter, Subscription
from meshmgmt.delivery.rules import masked

SHOWN_LETTERS: Final = 1000
_STATE: Final = (
    *("id", "failures", "next_attempt", "last_success", "last_error", "replay_from"),
    *("replay_until", "test_asked", "test_result"),
)


def subscription_rows(
    ids: Sequence[str] | None = None, *, whole: bool
) -> list[dict[str, Any]]:
    """Return subscriptions, in the order of creation, without secrets and state.

    `whole` gives the addresses of webhooks with their queries.
    """
    found = narrowed(Subscription.objects.order_by("id"), ids)
    rows: list[dict[str, Any]] = list(found.values("id", *CONFIGURED, "created_at"))
    # The query of an address may hold a token.
    return rows if whole else [r | {"target": masked(r["target"])} for r in rows]


def state_row(subscription: Subscription) -> dict[str, Any]:
    """Return how far the sending has come."""
    return {
        **{name: getattr(subscription, name) for name in _STATE},
        "lag_seconds": lag_seconds(subscription),
        "dead_letters": DeadLetter.objects.filter(subscription=subscription).count(),
    }


def lag_seconds(subscription: Subscription) -> float:
    """Return the age of the oldest event that is still to be sent or passed over."""
    since = waiting_since(subscription)
    return max(0.0, (clock.now() - since).total_seconds()) if since else 0.0


def lags() -> dict[tuple[str, ...], float]:
    """Return the lag of each enabled subscription by its id, for metrics."""
    found = Subscription.objects.filter(enabled=True)
    return {(one.pk,): lag_seconds(one) for one in found}


def letter_rows(subscription: Subscription) -> list[dict[str, Any]]:
    """Return the newest dead letters, newest first."""
    letters = DeadLetter.objects.filter(subscription=subscription).order_by("-id")
    columns = ("event_id", "event_time", "error", "created_at")
    return list(letters.values(*columns)[:SHOWN_LETTERS])
