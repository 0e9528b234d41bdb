"""The account as it was: all that was done since is taken back, read, and put back.

The events of the trail are undone one by one, newest first, without rules and signals,
in a transaction that is rolled back; whatever reads in between needs to know nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from django.db import connection, models, transaction

from dns.content import stored_form
from dns.models import Record, Zone
from dns.rules import RecordDraft
from dns.services.records import fill_record
from events.models import AuditEvent
from meshmgmt.access.models import Invite, SetupKey
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.names import canonical
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.core.transactions import queued_write
from meshmgmt.planning.inverse import MEMBERS, Undo, inverse_of, link_of
from meshmgmt.planning.kinds import KINDS

MOST: Final = 5000
"""So many events are undone for one answer; more would keep the database busy."""

_SHOWN: Final = tuple(
    model._meta.model_name or ""
    for model in KINDS
    if model not in (User, SetupKey, Invite)
)
"""Kinds that answers with a history are made of; secrets are in none of them."""

_MEMBERS: Final = tuple(code for code, (kind, *_) in MEMBERS.items() if kind in _SHOWN)


@contextmanager
def account_at(moment: datetime) -> Iterator[None]:
    """Let a block of reads see the account as it was; see `core.history`."""
    if moment > clock.now():
        raise InvalidArgument("at: this moment is still to come")
    with _scratch():
        events = _events_after(moment)
        for event in events:
            for undo in inverse_of([event]):
                _force(undo)
        yield
        transaction.set_rollback(True)


@contextmanager
def _scratch() -> Iterator[None]:
    """Run a block in a transaction of one state, to be rolled back.

    SQLite lets one writer in at a time, whatever becomes of it.
    """
    if connection.vendor == "sqlite":
        with queued_write():
            yield
        return
    begins = not connection.in_atomic_block
    with transaction.atomic():
        if begins:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def _events_after(moment: datetime) -> Sequence[AuditEvent]:
    # Ids grow in the order of commits, times only as the clocks of the hosts allow.
    told = AuditEvent.objects.filter(timestamp__lte=moment).order_by("-id")
    last = told.values_list("id", flat=True).first()
    if last is None:
        raise InvalidArgument("at: the audit trail does not reach back to this moment")
    later = AuditEvent.objects.filter(id__gt=last).defer("search")
    chosen = later.filter(
        models.Q(target_type__in=_SHOWN) | models.Q(activity_code__in=_MEMBERS)
    )
    events = [
        event
        for event in chosen.order_by("-id")[: MOST + 1]
        if event.changes or event.activity_code in _MEMBERS
    ]
    if len(events) > MOST:
        raise InvalidArgument(
            f"at: more than {MOST} changes lie between this moment and now"
        )
    return events


def _rows(model: type[models.Model]) -> Any:
    """Return rows that can be changed unseen: nothing of it stays."""
    return models.QuerySet(model)


def _force(undo: Undo) -> None:
    for relation, members in undo.lists.items():
        link = link_of(undo.model, relation)
        assert link is not None
        _force_members(link, undo.pk, members.out, members.back)
    rows = _rows(undo.model).filter(pk=undo.pk)
    if undo.delete:
        rows._raw_delete(rows.db)
        return
    columns = {column.attname: column for column in undo.model._meta.concrete_fields}
    values = {name: columns[name].to_python(v) for name, v in undo.then.items()}
    if undo.create:
        instance = undo.model(pk=undo.pk, **values)
        _derive(instance)
        _rows(undo.model).bulk_create([instance])
    elif values:
        rows.update(**values)


def _derive(instance: models.Model) -> None:
    if isinstance(instance, Zone):
        instance.canonical_domain = stored_form(canonical(instance.domain))
    elif isinstance(instance, Record):
        draft = RecordDraft(
            instance.name, instance.type, instance.content, instance.ttl
        )
        fill_record(instance, draft)


def _force_members(
    link: type[OrderedLink], owner: str, out: Sequence[Any], back: Sequence[Any]
) -> None:
    rows = _rows(link).filter(**{f"{link.owner_field}_id": owner})
    for key in out:
        rows.filter(**_columns(link, key))._raw_delete(rows.db)
    there = {row.member_key: row.position for row in rows}  # some are told twice
    missing = [key for key in back if key not in there]
    _rows(link).bulk_create(
        [
            link(
                **{f"{link.owner_field}_id": owner, "position": position},
                **_columns(link, key),
            )
            for position, key in enumerate(missing, max(there.values(), default=-1) + 1)
        ]
    )


def _columns(link: type[OrderedLink], key: Any) -> dict[str, Any]:
    parts = key if isinstance(key, tuple) else (key,)
    return dict(zip(link.member_fields, parts, strict=True))
