"""Copies of tables that stand in their place for one transaction, and what was in them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from django.db import connection, models

from events.audit.histories import owner_of
from events.audit.specs import spec_of
from events.models import AuditEvent
from meshmgmt.core.orderedlinks import OrderedLink, link_rows
from meshmgmt.core.queries import batches, insert_rows
from meshmgmt.history.inverse import Undo, take_back
from meshmgmt.history.kinds import derive
from meshmgmt.history.lists import arranged, orders_before
from meshmgmt.inventory.models import Peer

Table = type[models.Model]

Told = tuple[int, str, dict[Any, bool], bool]
"""Event, owner of a list, who was in it before, and whether the order became another."""


class PastTables:
    """Tables brought back, without rules and signals, to what events say was before."""

    def __init__(self) -> None:
        self._copied: set[Table] = set()

    def bring_objects_back(self, model: Table, events: Iterable[AuditEvent]) -> None:
        """Let objects be what they were before events, given newest first."""
        undos = _undos(model, events)
        if not undos:
            return
        rows = _rows(model)
        there = {
            row.pk: row
            for part in batches(list(undos))
            for row in rows.filter(pk__in=part)
        }
        self._copy(model, "id")
        for part in batches(list(undos)):
            rows.filter(pk__in=part)._raw_delete(rows.db)
        rows.bulk_create(
            [
                _as_it_was(undo, there.get(pk))
                for pk, undo in undos.items()
                if undo.existed or (undo.existed is None and pk in there)
            ]
        )

    def bring_lists_back(
        self, link: type[OrderedLink], told: Iterable[Told], before: int
    ) -> None:
        """Let lists be what they were before events, given newest first.

        Their order is that which the events with ids up to `before` left.
        """
        lists = _lists_as_they_were(link, told, before)
        if lists:
            self._copy(link, f"{link.owner_field}_id")
            _replace(link, lists)

    def _copy(self, model: Table, key: str) -> None:
        """Put a copy in a table's place, which nobody else sees or has to wait for."""
        if model in self._copied:
            return
        self._copied.add(model)
        table = connection.ops.quote_name(model._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TEMPORARY TABLE {table} AS SELECT * FROM {table}")  # noqa: S608 - our name
            index = connection.ops.quote_name(f"at_{model._meta.db_table}")
            temp = "temp." if connection.vendor == "sqlite" else ""
            cursor.execute(f"CREATE INDEX {temp}{index} ON {table} ({key})")


def _rows(model: Table) -> Any:
    """Return rows that can be changed unseen: nothing of it stays."""
    return models.QuerySet(model)


def _undos(model: Table, events: Iterable[AuditEvent]) -> dict[str, Undo]:
    """Return what each object was, of events newest first."""
    spec: Any = spec_of(model)
    undos: dict[str, Undo] = {}
    addresses: dict[str, str] = {}
    if model is Peer:
        addresses = dict(Peer.objects.order_by().values_list("ip", "pk"))
    for event in events:
        if event.target_type != model._meta.model_name or not event.changes:
            continue
        pk = addresses.get(event.target_id, event.target_id)
        take_back(undos.setdefault(pk, Undo(spec, pk)), event, to_look=True)
        if model is Peer and "ip" in event.changes:
            addresses[event.changes["ip"]["before"]] = pk
    return undos


def _as_it_was(undo: Undo, row: models.Model | None) -> models.Model:
    instance = undo.model(pk=undo.pk) if row is None else row
    for name, value in undo.values.items():
        setattr(instance, name, value)
    derive(instance)
    return instance


def _lists_as_they_were(
    link: type[OrderedLink], told: Iterable[Told], before: int
) -> dict[str, list[Any]]:
    was: defaultdict[str, dict[Any, bool]] = defaultdict(dict)
    reordered: set[str] = set()
    for _, owner, members, order in told:
        was[owner] |= members  # the earlier the event, the closer to the moment
        reordered |= {owner} if order else set()
    lists = _members_of(link, was)
    for owner, now in lists.items():
        there = set(now)
        back = [key for key, stood in was[owner].items() if stood and key not in there]
        lists[owner] = [key for key in now if was[owner].get(key, True)] + back
        reordered |= {owner} if back else set()
    known = orders_before(before + 1, [(link, owner) for owner in reordered])
    for (_, owner), left in known.items():
        lists[owner] = arranged(lists[owner], left)
    return lists


def _members_of(link: type[OrderedLink], owners: Iterable[str]) -> dict[str, list[Any]]:
    """Return the lists of owners; of one that is gone an empty list."""
    lists: dict[str, list[Any]] = {owner: [] for owner in owners}
    single = len(link.member_fields) == 1
    key_of: Any = owner_of(link)._meta.pk
    for part in batches([key_of.to_python(owner) for owner in lists]):
        for owner, *key in link_rows(link, part, *link.member_fields):
            lists[str(owner)].append(key[0] if single else tuple(key))
    return lists


def _replace(link: type[OrderedLink], lists: Mapping[str, Sequence[Any]]) -> None:
    column = f"{link.owner_field}_id"
    for part in batches(list(lists)):
        rows = _rows(link).filter(**{f"{column}__in": part})
        rows._raw_delete(rows.db)
    ids = count(_rows(link).aggregate(last=models.Max("id", default=0))["last"] + 1)
    insert_rows(
        link,
        ("id", "position", link.owner_field, *link.member_fields),
        [
            (next(ids), place, owner, *(key if isinstance(key, tuple) else (key,)))
            for owner, members in lists.items()
            for place, key in enumerate(members)
        ],
    )
