"""Writes of subscriptions. Every function runs in one account write.

They are no `Resource`: most columns tell how the sending goes, which senders write without
the lock, so a change of the others leaves them alone.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models import F

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.core import clock
from meshmgmt.core.errors import (
    Conflict,
    FieldError,
    InvalidArgument,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write
from meshmgmt.delivery.feeds import FEEDS, NO_REPLAY, filter_errors
from meshmgmt.delivery.models import CONFIGURED, Subscription
from meshmgmt.delivery.rules import MAX_EVENTS, MOST, Allowed, subscription_errors
from meshmgmt.delivery.senders.webhook import give_secret

KIND: Final = "subscription"
_AFRESH: Final[Mapping[str, Any]] = {
    "failures": 0, "next_attempt": None, "last_error": "", "batch_limit": MAX_EVENTS,
}  # fmt: skip


def subscription_create(**data: Any) -> tuple[Subscription, str]:
    """Subscribe to what is committed from now on; return the secret, too, "" for none.

    Raises InvalidArgument, Conflict.
    """
    with account_write():
        if Subscription.objects.count() >= MOST:
            raise Conflict(f"there are {MOST} subscriptions already")
        subscription = Subscription()
        _fill(subscription, data)
        # What was there before goes by a replay, if it is wanted.
        subscription.cursor = FEEDS[subscription.stream].head()
        webhook = subscription.target["type"] == "webhook"
        secret = give_secret(subscription) if webhook else ""
        subscription.save(force_insert=True)
        return subscription, secret


def subscription_update(
    *, subscription_id: str, changes: Mapping[str, Any]
) -> Subscription:
    """Change what is given, keep the rest; what waits is tried at once.

    Raises NotFound, InvalidArgument, Conflict.
    """
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        _refuse_others(subscription, changes)
        _fill(subscription, changes)
        subscription.save(update_fields=CONFIGURED)
        _set_state(subscription.pk, **_AFRESH)
        return subscription


def subscription_secret(*, subscription_id: str) -> str:
    """Return a new secret; the one before signs, too, for a day.

    Raises NotFound, PreconditionFailed.
    """
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        if not subscription.sealed_secret:
            raise PreconditionFailed("only webhooks are signed by a secret")
        secret = give_secret(subscription)
        subscription.save(update_fields=["sealed_secret", "secret_made"])
        _set_state(subscription.pk, **_AFRESH)
        return secret


def subscription_delete(*, subscription_id: str) -> None:
    """Delete a subscription and its dead letters. Raises NotFound."""
    with account_write():
        found(Subscription, subscription_id, kind=KIND).delete()


def subscription_replay(
    *, subscription_id: str, start: datetime, end: datetime | None
) -> None:
    """Send the events of a time range again, before any new ones.

    `end` is now unless given.
    Raises NotFound, InvalidArgument, and Conflict while another range is being sent.
    """
    until = clock.now() if end is None else end
    if until < start:
        raise InvalidArgument.about("until", "until must not be before from")
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        if subscription.replay_from is not None:
            raise Conflict(
                f"{subscription.replay_from:%Y-%m-%dT%H:%M:%SZ} to"
                f" {subscription.replay_until:%Y-%m-%dT%H:%M:%SZ} is still being sent"
                " again: wait for the end of that, or stop it"
            )
        times = {"replay_from": start, "replay_until": until, "replay_after": None}
        _set_state(subscription.pk, **_AFRESH, **times)
        told = {"from": start.isoformat(), "until": until.isoformat()}
        _record(Activity.EVENT_SUBSCRIPTION_REPLAY, subscription, **told)


def subscription_replay_stop(*, subscription_id: str) -> None:
    """Go on with new events, whatever is left to be sent again. Raises NotFound."""
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        if (start := subscription.replay_from) is not None:
            _set_state(subscription.pk, **_AFRESH, **NO_REPLAY)
            stopped = Activity.EVENT_SUBSCRIPTION_REPLAY_STOP
            _record(stopped, subscription, **{"from": start.isoformat()})


def subscription_test(*, subscription_id: str) -> None:
    """Have housekeeping send an event for trying out. Raises NotFound."""
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        _set_state(subscription.pk, test_asked=clock.now(), test_result="")
        _record(Activity.EVENT_SUBSCRIPTION_TEST, subscription)


def subscription_tried(*, subscription_id: str) -> None:
    """Record that somebody sends an event for trying out now. Raises NotFound."""
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        _record(Activity.EVENT_SUBSCRIPTION_TEST, subscription)


def subscription_switch_off(seen: Subscription, reason: str) -> None:
    """Disable a subscription whose receiver wants nothing any more.

    Nothing is written when it was changed or deleted since it was `seen`.
    """
    with account_write():
        rows = Subscription.objects.filter(pk=seen.pk, revision=seen.revision)
        subscription = rows.first()
        if subscription is None:
            return
        subscription.enabled = False
        subscription.save(update_fields=["enabled"])
        # The reason stays to be read: nothing is sent that could replace it.
        _set_state(subscription.pk, last_error=reason)


def _set_state(pk: str, **state: Any) -> None:
    rows = Subscription.objects.filter(pk=pk)
    # A sender that is under way has read the number before, and so writes nothing.
    rows.unaudited_update(revision=F("revision") + 1, **state)


def _record(activity: Activity, subscription: Subscription, **more: str) -> None:
    audit_record(
        activity,
        target_id=subscription.pk,
        target_type="subscription",
        meta={"name": subscription.name, **more},
    )


def _refuse_others(before: Subscription, changes: Mapping[str, Any]) -> None:
    """Refuse what the cursor and the secret of a subscription hang on to change."""
    same = {
        "stream": changes.get("stream", before.stream) == before.stream,
        "target.type": changes.get("target", before.target).get("type")
        == before.target["type"],
    }
    text = "cannot be changed: make another subscription"
    raise_field_errors(
        FieldError(name, f"{name} {text}") for name, kept in same.items() if not kept
    )


def _fill(subscription: Subscription, changes: Mapping[str, Any]) -> None:
    values = {name: getattr(subscription, name) for name in CONFIGURED}
    values |= changes
    name, stream = values["name"], values["stream"]
    svc = settings.SVC
    allowed = Allowed(svc.delivery_plain_http, svc.delivery_dir is not None)
    faults = list(subscription_errors(values, allowed))
    if stream not in FEEDS:
        faults.append(
            FieldError("stream", f"the stream must be one of {', '.join(FEEDS)}")
        )
    elif not any(fault.field.startswith("filters") for fault in faults):
        faults += filter_errors(stream, values["filters"])
    if Subscription.objects.filter(name=name).exclude(pk=subscription.pk).exists():
        text = "a subscription with this name exists already"
        faults.append(FieldError("name", text, conflict=True))
    raise_field_errors(faults)
    for name in CONFIGURED:
        setattr(subscription, name, values[name])
