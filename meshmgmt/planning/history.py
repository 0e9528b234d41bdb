"""The account as it was: all that was done since is taken back, and read.

The events of the trail are undone one by one, newest first, without rules and signals, in
copies of the tables that stand in their place for one transaction, which is rolled back:
whatever reads in between needs to know nothing, and nobody waits.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import Any, Final

from django.db import connection, models, transaction

from events.models import AuditEvent
from meshmgmt.access.models import Invite, SetupKey
from meshmgmt.accounts.models import User
from meshmgmt.core import clock
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.planning.inverse import (
    MOST,
    Undo,
    arranged,
    inverse_of,
    list_changes,
    member_events,
    moved,
    orders_before,
)
from meshmgmt.planning.kinds import KINDS, derive

_SHOWN: Final = tuple(
    model._meta.model_name or ""
    for model in KINDS
    if model not in (User, SetupKey, Invite)
)
"""Kinds that answers with a history are made of; secrets are in none of them."""


@contextmanager
def account_at(moment: datetime) -> Iterator[None]:
    """Let a block of reads see the account as it was; see `core.history`."""
    if moment > clock.now():
        raise InvalidArgument("at: this moment is still to come")
    with read_snapshot(temporary=True), transaction.atomic():
        events = _events_after(moment)
        undos = [undo for event in events for undo in inverse_of([event])]
        for model in {undo.model for undo in undos}:
            _shadow(model, "id")
        for undo in undos:
            _force(undo)
        if events:
            _force_lists(events)
        yield
        transaction.set_rollback(True)


def _shadow(model: type[models.Model], key: str) -> None:
    """Put a copy of a table in its place, which nobody else sees or has to wait for."""
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE {table} AS SELECT * FROM {table}")  # noqa: S608 - our name
        index = connection.ops.quote_name(f"at_{model._meta.db_table}")
        temp = "temp." if connection.vendor == "sqlite" else ""
        cursor.execute(f"CREATE INDEX {temp}{index} ON {table} ({key})")


def _events_after(moment: datetime) -> Sequence[AuditEvent]:
    # Ids grow in the order of commits, times only as the clocks of the hosts allow.
    told = AuditEvent.objects.filter(timestamp__lte=moment).order_by("-id")
    last = told.values_list("id", flat=True).first()
    if last is None:
        raise InvalidArgument("at: the audit trail does not reach back to this moment")
    later = AuditEvent.objects.filter(id__gt=last).defer("search")
    chosen = later.filter(target_type__in=_SHOWN)
    events = [
        event
        for event in chosen.order_by("-id")[: MOST + 1]
        if event.changes or event.activity_code in member_events()
    ]
    if len(events) > MOST:
        raise InvalidArgument(
            f"at: more than {MOST:,} changes lie between this moment and now,"
            " and no more are taken back for an answer"
        )
    return events


def _rows(model: type[models.Model]) -> Any:
    """Return rows that can be changed unseen: nothing of it stays."""
    return models.QuerySet(model)


def _force(undo: Undo) -> None:
    rows = undo.rows
    if undo.delete:
        rows._raw_delete(rows.db)
        return
    if undo.create:
        instance = undo.model(pk=undo.pk, **undo.values)
        derive(instance)
        _rows(undo.model).bulk_create([instance])
    elif undo.values:
        rows.update(**undo.values)


def _force_lists(events: Sequence[AuditEvent]) -> None:
    changes = [told for event in events for told in list_changes(event)]
    orders = orders_before(events[-1].pk, {listing for listing, _ in changes})
    for link in {link for link, _ in orders}:
        owner = f"{link.owner_field}_id"
        lists: dict[str, list[Any]] = {pk: [] for of, pk in orders if of is link}
        rows = _rows(link).filter(**{f"{owner}__in": lists})
        for row in rows.order_by("position", "id"):
            lists[str(getattr(row, owner))].append(row.member_key)
        for (of, pk), change in changes:
            if of is link:
                undone = {"added": change["removed"], "removed": change["added"]}
                lists[pk] = moved(lists[pk], undone)
        _shadow(link, owner)
        rows._raw_delete(rows.db)
        ids = count(_rows(link).aggregate(last=models.Max("id", default=0))["last"] + 1)
        _rows(link).bulk_create(
            link(id=next(ids), position=n, **{owner: pk}, **_columns(link, key))
            for pk, members in lists.items()
            for n, key in enumerate(arranged(members, orders[link, pk]))
        )


def _columns(link: type[OrderedLink], key: Any) -> dict[str, Any]:
    parts = key if isinstance(key, tuple) else (key,)
    return dict(zip(link.member_fields, parts, strict=True))
