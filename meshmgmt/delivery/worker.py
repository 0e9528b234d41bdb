"""Sends what is due. Called by housekeeping; each receiver is served by its own thread.

So nobody waits for a receiver that hangs: neither other receivers nor other jobs.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connections
from django.db.models import F, Q

from meshmgmt.core import clock
from meshmgmt.core.transactions import queued_write
from meshmgmt.delivery.feeds import Batch, Event, following, replayed, sample
from meshmgmt.delivery.models import DeadLetter, Subscription
from meshmgmt.delivery.rules import LONGEST_WAIT, MAX_EVENTS, backoff
from meshmgmt.delivery.senders import (
    Gone,
    NotDelivered,
    Refused,
    described,
    lines,
    webhook,
)
from meshmgmt.delivery.services import subscription_switch_off
from observability.metrics import instruments

_LOG: Final = logging.getLogger(__name__)
EVERY_SECONDS: Final = 2.0
SERVE_SECONDS: Final = 5.0
"""How long one receiver is served before its state is looked at anew."""
MOST_THREADS: Final = 8
_SENDERS: Final[Mapping[str, Callable[[Subscription, str, list[Event]], None]]] = {
    "webhook": webhook.send,
    "syslog": lines.to_syslog,
    "file": lines.to_file,
}
_EVENTS: Final = instruments.counter("mesh.delivery.events.total")
_FAILURES: Final = instruments.counter("mesh.delivery.failures.total")
_LOST: Final = instruments.counter("mesh.delivery.dead.letters.lost.total")
_running: Final[dict[str, threading.Thread]] = {}


def serve_due() -> None:
    """Begin to serve what is due, without waiting for it."""
    for pk in [pk for pk, thread in _running.items() if not thread.is_alive()]:
        del _running[pk]
    now = clock.now()
    waits = Q(next_attempt__gt=now) & Q(
        # Where the clock was set back since, it does not wait for that time to come again.
        next_attempt__lte=now + timedelta(seconds=LONGEST_WAIT)
    )
    due = Q(next_attempt=None) | ~waits
    wanted = Subscription.objects.filter(
        Q(enabled=True) & due | Q(test_asked__isnull=False)
    )
    ids = [pk for pk in wanted.values_list("pk", flat=True) if pk not in _running]
    random.shuffle(ids)  # none comes last every time
    for pk in ids[: MOST_THREADS - len(_running)]:
        # Daemons: housekeeping must be able to end while a receiver hangs.
        _running[pk] = threading.Thread(
            target=_serve, args=[pk], name=f"delivery-{pk}", daemon=True
        )
        _running[pk].start()


def _serve(pk: str) -> None:
    try:
        deliver(pk, time.monotonic() + SERVE_SECONDS)
    except Exception:
        _LOG.exception("delivery of subscription %s stopped", pk)
    finally:
        # Connections belong to the thread, which ends here.
        connections.close_all()


def deliver(pk: str, until: float) -> None:
    """Send batch after batch until none is left, one fails, or the time is over."""
    while time.monotonic() < until:
        subscription = Subscription.objects.filter(pk=pk).first()
        if subscription is None:
            return
        if subscription.test_asked is not None:
            _test(subscription)
        elif not subscription.enabled or not _step(subscription):
            return


def _step(subscription: Subscription) -> bool:
    """Send one batch; return whether there may be another at once."""
    replaying = subscription.replay_from is not None
    batch = replayed(subscription) if replaying else following(subscription)
    if not batch.events:
        if replaying or batch.after["cursor"] != subscription.cursor:
            _save(subscription, **batch.after)
        # What is new waited for the replay, and may go at once.
        return replaying
    count = len(batch.events)
    try:
        _send(subscription, f"{subscription.stream}.events", batch.events)
    except Gone as error:
        subscription_switch_off(subscription, str(error))
        return False
    except Refused as error:
        return _refused(subscription, batch, str(error))
    except (NotDelivered, OSError) as error:
        _failed(subscription, error, count)
        return False
    _EVENTS.labels(subscription.pk).inc(count)
    return _save(
        subscription,
        **batch.after,
        failures=0,
        next_attempt=None,
        last_error="",
        last_success=clock.now(),
        # Back to whole batches, after halves were tried to find the event that was refused.
        batch_limit=min(2 * subscription.batch_limit, MAX_EVENTS),
    )


def _send(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Send a batch. Raises NotDelivered, Refused, Gone, OSError."""
    try:
        _SENDERS[subscription.target["type"]](subscription, kind, events)
    except (NotDelivered, Refused, Gone, OSError):
        raise
    except Exception as error:
        # Without a failure in its state it would be tried again at once, for ever.
        _LOG.exception("subscription %s", subscription.pk)
        raise NotDelivered(f"{type(error).__name__}: {error}") from error


def _refused(subscription: Subscription, batch: Batch, error: str) -> bool:
    """Try a half of the batch next; give up on an event that is refused alone."""
    _FAILURES.labels(subscription.pk).inc()
    if len(batch.events) > 1:
        return _save(subscription, batch_limit=len(batch.events) // 2, last_error=error)
    event = batch.events[0]
    letters = DeadLetter.objects.filter(subscription=subscription)
    with queued_write():
        # With the letter or not at all, or the event would be lost, or refused twice.
        if not _save(subscription, **batch.after, batch_limit=1, last_error=error):
            return False
        letters.create(
            subscription=subscription,
            event_id=event.id,
            event_time=event.time,
            error=error,
        )
        kept = letters.order_by("-id").values("pk")[
            : settings.SVC.delivery_dead_letters
        ]
        lost, _ = letters.exclude(pk__in=kept).delete()
    _LOG.warning("event %s: %s", event.id, error)
    if lost:
        _LOST.labels(subscription.pk).inc(lost)
        _LOG.warning("subscription %s: the oldest dead letter is gone", subscription.pk)
    return True


def _failed(subscription: Subscription, error: Exception, count: int) -> None:
    """Wait, longer each time; the same batch is tried again then."""
    _FAILURES.labels(subscription.pk).inc()
    failures = subscription.failures + 1
    wait = max(backoff(failures, random.random()), getattr(error, "wait", 0.0))  # noqa: S311 - spreads load
    text = described(error)
    _LOG.warning("subscription %s: %s", subscription.pk, text)
    _save(
        subscription,
        failures=failures,
        last_error=text,
        # The same batch: its id comes of its events, and the receiver may know it.
        batch_limit=count,
        next_attempt=clock.now() + timedelta(seconds=wait),
    )


def _test(subscription: Subscription) -> None:
    """Send an event that tells nothing, and note what became of it."""
    event = sample()
    result = "delivered"
    try:
        _send(subscription, "test", [event])
    except (NotDelivered, Refused, Gone, OSError) as error:
        result = described(error)
    result = f"{event.time:%Y-%m-%dT%H:%M:%SZ}: {result}"
    _save(subscription, test_asked=None, test_result=result)


def _save(subscription: Subscription, **state: Any) -> bool:
    """Write the state, unless somebody else changed it since it was read."""
    rows = Subscription.objects.filter(
        pk=subscription.pk, revision=subscription.revision
    )
    with queued_write():
        changed = rows.unaudited_update(revision=F("revision") + 1, **state)
    return bool(changed)


def forget_dead_letters() -> None:
    """Delete dead letters that are older than the setting says."""
    days = settings.SVC.delivery_dead_letter_days
    if days is not None:
        oldest = clock.now() - timedelta(days=days)
        with queued_write():
            DeadLetter.objects.filter(created_at__lt=oldest).delete()
