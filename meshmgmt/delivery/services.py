"""Writes of subscriptions. Every function runs in one account write."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models import F

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.core import clock
from meshmgmt.core.errors import Conflict, InvalidArgument, raise_field_errors
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write
from meshmgmt.delivery.feeds import FEEDS, filter_errors
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import (
    MAX_EVENTS,
    MOST,
    Allowed,
    SubscriptionDraft,
    draft_errors,
)
from meshmgmt.delivery.secrets import new_secret, seal

KIND: Final = "subscription"
_CONFIGURED: Final = ("name", "stream", "target", "filters", "enabled")
_AFRESH: Final[Mapping[str, Any]] = {
    "failures": 0, "next_attempt": None, "last_error": "", "batch_limit": MAX_EVENTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A new subscription; `secret` is "" where nothing is signed."""

    subscription: Subscription
    secret: str


def subscription_create(*, draft: SubscriptionDraft) -> Made:
    """Subscribe to what is committed from now on. Raises InvalidArgument, Conflict."""
    with account_write():
        if Subscription.objects.count() >= MOST:
            raise Conflict(f"there are {MOST} subscriptions already")
        subscription = Subscription()
        _fill(subscription, draft)
        subscription.cursor = FEEDS[draft.stream].head()
        secret = new_secret() if draft.target["type"] == "webhook" else ""
        if secret:
            subscription.sealed_secret = seal(secret, subscription.pk)
        subscription.save(force_insert=True)
        return Made(subscription, secret)


def subscription_update(
    *, subscription_id: str, changes: Mapping[str, Any]
) -> Subscription:
    """Change what is given, keep the rest; what waits is tried at once.

    Raises NotFound, InvalidArgument, Conflict.
    """
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        stored = {name: getattr(subscription, name) for name in _CONFIGURED}
        draft = replace(SubscriptionDraft(**stored), **changes)
        _refuse_others(stored, draft)
        _fill(subscription, draft)
        subscription.save(update_fields=_CONFIGURED)
        _set_state(subscription.pk, **_AFRESH)
        return subscription


def subscription_delete(*, subscription_id: str) -> None:
    """Delete a subscription and its dead letters. Raises NotFound."""
    with account_write():
        found(Subscription, subscription_id, kind=KIND).delete()


def subscription_replay(
    *, subscription_id: str, start: datetime, end: datetime | None
) -> Subscription:
    """Send the events of a time range again, before any new ones.

    `end` is now unless given. Raises NotFound, InvalidArgument.
    """
    until = clock.now() if end is None else end
    if until < start:
        text = "until must not be before from"
        raise InvalidArgument(text, [FieldError("until", text)])
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        _set_state(
            subscription.pk,
            **_AFRESH,
            replay_from=start,
            replay_until=until,
            replay_after=None,
        )
        _record(
            Activity.EVENT_SUBSCRIPTION_REPLAY,
            subscription,
            **{"from": start.isoformat(), "until": until.isoformat()},
        )
        return subscription


def subscription_test(*, subscription_id: str) -> Subscription:
    """Have housekeeping send an event for trying out. Raises NotFound."""
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        _set_state(subscription.pk, test_asked=clock.now(), test_result="")
        _record(Activity.EVENT_SUBSCRIPTION_TEST, subscription)
        return subscription


def subscription_switch_off(*, subscription_id: str, reason: str) -> None:
    """Disable a subscription whose receiver wants nothing any more."""
    with account_write():
        subscription = found(Subscription, subscription_id, kind=KIND)
        subscription.enabled = False
        subscription.save(update_fields=["enabled"])
        _set_state(subscription.pk, last_error=reason)


def _set_state(pk: str, **state: Any) -> None:
    rows = Subscription.objects.filter(pk=pk)
    rows.unaudited_update(revision=F("revision") + 1, **state)


def _record(activity: Activity, subscription: Subscription, **more: str) -> None:
    audit_record(
        activity,
        target_id=subscription.pk,
        target_type="subscription",
        meta={"name": subscription.name, **more},
    )


def _refuse_others(stored: Mapping[str, Any], draft: SubscriptionDraft) -> None:
    """Refuse what the cursor and the secret of a subscription hang on to change."""
    fixed = "cannot be changed: make another subscription"
    kinds = stored["target"]["type"], draft.target.get("type")
    raise_field_errors(
        FieldError(name, fixed)
        for name, before, after in (
            ("stream", stored["stream"], draft.stream),
            ("target.type", *kinds),
        )
        if before != after
    )


def _fill(subscription: Subscription, draft: SubscriptionDraft) -> None:
    svc = settings.SVC
    allowed = Allowed(svc.delivery_plain_http, svc.delivery_dir is not None)
    faults = list(draft_errors(draft, allowed))
    if draft.stream not in FEEDS:
        faults.append(FieldError("stream", f"must be one of {', '.join(FEEDS)}"))
    elif not any(fault.field.startswith("filters") for fault in faults):
        faults += filter_errors(draft.stream, draft.filters)
    namesakes = Subscription.objects.filter(name=draft.name).exclude(pk=subscription.pk)
    if namesakes.exists():
        text = "a subscription with this name exists already"
        faults.append(FieldError("name", text, conflict=True))
    raise_field_errors(faults)
    for name in _CONFIGURED:
        setattr(subscription, name, getattr(draft, name))
