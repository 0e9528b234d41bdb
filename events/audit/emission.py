"""Turns the changes of a write into rows of the audit trail, before the commit.

Times grow with the ids, too, unless a clock was set back or those of two hosts differ. A
write whose time is well before that of the event before it says so in an event of its own,
so an event that is older than the one before it and of which nothing is said was not
written by this service.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import Subquery
from django.dispatch import Signal

from events.activities import Activity
from events.audit.changes import Change, Members, emission, related_object, take_pending
from events.audit.specs import ActivityOf, AuditSpec, MemberRule, Meta, spec_of
from events.models.audit import AuditEvent, AuditKey
from meshmgmt.core import clock, context
from meshmgmt.core.queries import Prepared, insert_rows
from meshmgmt.core.transactions import account_write

changes_written: Final = Signal()
"""Sent with `changes` in the transaction of every write, after its events."""

TOLERANCE: Final = dt.timedelta(minutes=5)
"""How far clocks may be apart without a word."""

SECRET = "changed"  # noqa: S105 - stands where a secret would


def write_pending(sender: object, **kwargs: Any) -> None:
    """Write the events of what the running write noted, just before it ends."""
    changes = take_pending()
    with emission(changes):
        rows = [event for change in with_owners(changes) for event in events_of(change)]
    moment = clock.now()  # one of all: no moment has half a write
    for row in rows:
        row.timestamp = moment
    if rows:
        insert_events([*_step_back(moment), *rows])
    changes_written.send(sender=None, changes=changes)


def audit_record(
    activity: Activity, *, target_id: str, target_type: str = "", meta: Meta
) -> None:
    """Record an activity that is no change of a row, such as signing in."""
    with account_write():
        event = _event(activity, target_id, target_type, meta=meta)
        insert_events([*_step_back(event.timestamp), event])


_NEWEST: Final = AuditEvent.objects.order_by("-id").values_list("id", "timestamp")[:1]
_READ: Final = Prepared(_NEWEST.all)
NEWEST_COLUMNS: Final = [Subquery(_NEWEST.values(name)) for name in ("id", "timestamp")]
"""What `newest()` returns, as columns of another query; both None when there is none."""


def newest() -> tuple[Any, ...] | None:
    """Return id and time of the event committed last, None when there is none.

    Its time tells it from one of another history, of a backup that was restored.
    """
    return next(_READ.rows(), None)


def goes_back(before: dt.datetime, moment: dt.datetime) -> bool:
    """Tell whether an event of `moment` must not stand behind one of `before`."""
    return before - moment > TOLERANCE


def _step_back(moment: dt.datetime) -> Iterator[AuditEvent]:
    """Yield the event that tells of a clock set back, if an event of `moment` needs it.

    None before the first key: of what was written until then the order of times proves
    nothing, demo data for one.
    """
    _, before = newest() or (0, moment)
    if goes_back(before, moment) and AuditKey.objects.exists():
        meta = {"from": before, "to": moment}
        # No person set the clock: the event is nobody's, and part of no request.
        with context.scope(context.RequestContext()):
            event = _event(Activity.AUDIT_CLOCK_BACK, "audit", "", meta=meta)
        event.timestamp = moment
        yield event


def events_of(change: Change) -> Iterator[AuditEvent]:
    """Yield the unsaved events of one changed object, in their order."""
    spec = spec_of(type(change.instance))
    if spec is None or (change.created and change.deleted):
        return
    # Members go before their list does and come after it, so that who takes events back,
    # the newest first, always has the list to put them into.
    if change.deleted:
        yield from _member_events(spec, change)
        yield from _whole(spec, change, spec.deleted, change.meta_at_deletion)
    elif change.created:
        yield from _whole(spec, change, spec.created, spec.meta(change.instance))
        yield from _member_events(spec, change)
    else:
        yield from _updated(spec, change)
        yield from _member_events(spec, change)


def _whole(
    spec: AuditSpec, change: Change, choice: ActivityOf | None, meta: Meta
) -> Iterator[AuditEvent]:
    """Yield the event of an object that came or went, if that has one."""
    activity = _resolve(choice, change)
    if activity is None:
        return
    values = change.values
    # Under another target, such as that of a token's user, nothing else would tell which.
    if spec.target(change, activity) != str(change.pk):
        own = (None, change.pk) if change.created else (change.pk, None)
        values = {"id": own, **values}
    yield _owner_event(spec, change, activity, meta, _shown(spec, values, change))


def _updated(spec: AuditSpec, change: Change) -> Iterator[AuditEvent]:
    """One event per distinct code among the changed fields, lists and parts."""
    by_activity: dict[str, list[str]] = {}
    fields = change.values
    for name in fields:
        activity = _resolve(spec.activity_for(name), change)
        if activity is not None:
            by_activity.setdefault(activity, []).append(name)
    for relation, members in change.members.items():
        rule = spec.members.get(relation, MemberRule())
        code = rule.owner
        if code is None and members.order is not None:
            code = rule.reordered
        if members and code is not None:
            by_activity.setdefault(code, []).append(relation)
    activity = _resolve(spec.updated, change) if change.parts else None
    if activity is not None:
        by_activity.setdefault(activity, []).extend(change.parts)
    for activity, names in by_activity.items():
        values = {name: both for name, both in fields.items() if name in names}
        describe = spec.update_meta
        meta = (
            spec.meta(change.instance)
            if describe is None
            else describe(change, activity)
        )
        shown = _shown(spec, values, change, only=names)
        yield _owner_event(spec, change, activity, meta, shown)


def shown_change(change: Change) -> dict[str, Any]:
    """Return all that became another, as events show it; {} of what is not audited."""
    spec = spec_of(type(change.instance))
    return {} if spec is None else _shown(spec, change.values, change)


def _owner_event(
    spec: AuditSpec,
    change: Change,
    activity: str,
    meta: Meta,
    changes: dict[str, Any],
) -> AuditEvent:
    target = spec.target(change, activity)
    kind = spec.model._meta.model_name or ""
    return _event(
        activity, target, kind, meta=meta, changes=changes, reason=change.reason
    )


def _member_events(spec: AuditSpec, change: Change) -> Iterator[AuditEvent]:
    for relation, members in change.members.items():
        rule = spec.members.get(relation, MemberRule())
        for activity, keys in (
            (rule.removed, list(members.removed)),
            (rule.added, list(members.added)),
        ):
            if activity is None or rule.describe is None or not keys:
                continue
            described = rule.describe(change.instance, keys)
            for key in keys:
                if (event := described.get(key)) is not None:
                    yield _event(
                        activity,
                        event.target_id,
                        event.target_type,
                        meta=event.meta,
                        reason=change.reason,
                    )


def _resolve(activity: ActivityOf | None, change: Change) -> str | None:
    if activity is None or isinstance(activity, str):
        return activity
    return activity(change)


def _shown(
    spec: AuditSpec,
    values: dict[str, tuple[Any, Any]],
    change: Change,
    only: list[str] | None = None,
) -> dict[str, Any]:
    """Return `{field: {"before", "after"}}` and `{list: {"added", "removed"}}`.

    Parts have a third list, of those that `changed`.
    """
    shown: dict[str, Any] = {}
    for name, (before, after) in values.items():
        show = _masked if name in spec.secret else spec.shown.get(name, shown_value)
        shown[name] = {"before": show(before), "after": show(after)}
    for relation, members in change.members.items():
        if members and (only is None or relation in only):
            shown[relation] = _shown_members(members)
    shown |= {name: change.parts[name] for name in change.parts if name in (only or ())}
    return shown


def _masked(value: Any) -> str | None:
    return None if value is None else SECRET


def _shown_members(members: Members) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "added": [shown_value(key) for key in members.added],
        "removed": [shown_value(key) for key in members.removed],
    }
    if members.order is not None:
        shown["order"] = [shown_value(key) for key in members.order]
    return shown


def shown_value(value: Any) -> Any:
    """Return `value` as JSON can hold it."""
    if isinstance(value, dt.datetime):
        return clock.rfc3339(value)
    if isinstance(value, tuple):
        return [shown_value(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        return value
    return str(value)


def meta_text(value: Any) -> str:
    """Return a meta value as text: whole numbers plain, booleans as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return clock.rfc3339(value) or ""
    if isinstance(value, list | tuple):
        return ", ".join(meta_text(part) for part in value)
    return "" if value is None else str(value)


def _event(
    activity: str,
    target_id: str,
    target_type: str,
    *,
    meta: Meta,
    changes: dict[str, Any] | None = None,
    reason: str = "",
) -> AuditEvent:
    here = context.current()
    texts = {name: meta_text(value) for name, value in meta.items()}
    if reason:
        texts["reason"] = reason
    return AuditEvent(
        timestamp=clock.now(),
        activity_code=activity,
        initiator_id=here.actor.id,
        initiator_name=here.actor.name,
        initiator_email=here.actor.email,
        target_id=target_id,
        target_type=target_type,
        meta=texts,
        changes=changes or {},
        request_id=here.request_id,
        source_address=here.source_address,
        token_id=here.token_id,
    )


_PLAIN: Final = models.CharField
"""Fields whose values the database takes as they are."""


def insert_events(events: Sequence[AuditEvent]) -> None:
    """Insert unsaved events in their order; their ids grow in it."""
    connection = connections[DEFAULT_DB_ALIAS]
    names = [column.attname for column in _columns()]
    insert_rows(AuditEvent, names, [_values(event, connection) for event in events])


@cache
def _columns() -> tuple["models.Field[Any, Any]", ...]:
    return tuple(
        column for column in AuditEvent._meta.concrete_fields if not column.primary_key
    )


def _values(event: AuditEvent, connection: Any) -> list[Any]:
    # One write may make thousands of events under the lock; most columns are plain text.
    facts = vars(event)
    return [
        facts[column.attname]
        if type(column) is _PLAIN
        else column.get_db_prep_save(
            column.pre_save(event, add=True), connection=connection
        )
        for column in _columns()
    ]


Key = tuple[type[models.Model], object]


def with_owners(changes: Sequence[Change]) -> list[Change]:
    """Return the changes, and before each changed part that of its owner.

    What happened to the parts is noted in the owner's change. An owner that is made or
    deleted in the same write says so itself.
    """
    known: dict[Key, Change] = {_key(change): change for change in changes}
    found: list[Change] = []
    for change in changes:
        spec = spec_of(type(change.instance))
        if spec is not None and spec.part_of and change.happened:
            owner = _owner(change, spec.part_of[0], known)
            if owner is not None and _key(owner) not in known:
                known[_key(owner)] = owner
                found.append(owner)
            if owner is not None:
                owner.note_part(spec.part_of[1], change)
        found.append(change)
    return found


def _key(change: Change) -> Key:
    return type(change.instance), change.pk


def _owner(change: Change, name: str, known: dict[Key, Change]) -> Change | None:
    relation = change.instance._meta.get_field(name)
    assert isinstance(relation, models.ForeignKey)
    pk = getattr(change.instance, relation.attname)
    if (relation.related_model, pk) in known:
        return known[relation.related_model, pk]
    instance = related_object(change.instance, name)
    return None if instance is None else Change(instance, pk, reason=change.reason)
