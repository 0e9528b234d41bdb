"""Copies of tables that stand in their place for one transaction, and what was in them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import count
from typing import Any, Self

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

from events.audit.histories import ToldEvent
from events.audit.specs import has_member_events, spec_of
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.core.queries import batches, columns_of, execute, insert_rows
from meshmgmt.history.inverse import Undo, take_back
from meshmgmt.history.kinds import KINDS
from meshmgmt.history.lists import Change, arranged, members_of, orders_before
from meshmgmt.inventory.models import Peer

Table = type[models.Model]


class Told:
    """What events tell of lists: by owner and member its first event, and if it stood."""

    def __init__(self) -> None:
        self.members: defaultdict[str, dict[Any, tuple[int, bool]]] = defaultdict(dict)
        self.reordered: set[str] = set()

    def note(self, event: int, owner: str, member: Any, *, stood: bool) -> None:
        """Take one event; only the earliest about a member tells of the moment before."""
        known = self.members[owner].get(member)
        if known is None or event < known[0]:
            self.members[owner][member] = event, stood

    def note_list(self, event: int, owner: str, change: Change) -> None:
        """Take one event about several members of a list, or about its order alone."""
        for key in change["added"]:
            self.note(event, owner, key, stood=False)
        for key in change["removed"]:
            self.note(event, owner, key, stood=True)
        if "order" in change:
            self.reordered.add(owner)
            self.members.setdefault(owner, {})  # a list to read, whoever moved in it

    def among(self, owners: Set[str]) -> Self:
        """Leave out all but the lists of these owners."""
        for owner in self.members.keys() - owners:
            del self.members[owner]
        self.reordered &= owners
        return self


class PastTables:
    """Tables brought back, without rules and signals, to what events say was before."""

    def __init__(self) -> None:
        self._copied: set[Table] = set()

    def bring_objects_back(self, model: Table, events: Iterable[ToldEvent]) -> None:
        """Let objects be what they were before events, given newest first."""
        undos = _undos(model, events)
        if not undos:
            return
        self._copy(model, "id")
        sources = KINDS[model].derived_from
        changed: defaultdict[tuple[str, ...], list[Undo]] = defaultdict(list)
        for pk, undo in list(undos.items()):
            if undo.existed is None and sources.isdisjoint(undo.then):
                changed[tuple(undo.then)].append(undos.pop(pk))
        changed.pop((), None)  # secrets alone, which the trail does not hold
        for names, some in changed.items():
            _change(model, names, some)
        _make_anew(model, undos)

    def bring_lists_back(
        self, link: type[OrderedLink], told: Told, before: int
    ) -> None:
        """Let lists be what they were before events.

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
        # Temporary tables are found before others of their name, on both databases. To
        # replace rows by, one index is enough; the original's cost more than they save.
        table = connection.ops.quote_name(model._meta.db_table)
        execute(f"CREATE TEMPORARY TABLE {table} AS SELECT * FROM {table}")  # noqa: S608 - our name
        index = connection.ops.quote_name(f"at_{model._meta.db_table}")
        temp = "temp." if connection.vendor == "sqlite" else ""
        execute(f"CREATE INDEX {temp}{index} ON {table} ({key})")


def _rows(model: Table) -> Any:
    """Return rows that can be changed unseen: nothing of it stays."""
    return models.QuerySet(model)


def _undos(model: Table, events: Iterable[ToldEvent]) -> dict[str, Undo]:
    """Return what each object was, of events newest first."""
    spec: Any = spec_of(model)
    audited = frozenset(spec.columns)
    undos: dict[str, Undo] = {}
    # Some events name a peer by the address it had then, which others may have by now:
    # on the way back from the newest, each address is whose it was at that time.
    addresses: dict[str, str] = {}
    if model is Peer:
        addresses = dict(Peer.objects.order_by().values_list("ip", "pk"))
    for event in events:
        if event.target_type != model._meta.model_name or audited.isdisjoint(
            event.changes
        ):
            continue
        pk = addresses.get(event.target_id, event.target_id)
        take_back(undos.setdefault(pk, Undo(spec, pk)), event, to_look=True)
        if model is Peer and "ip" in event.changes:
            addresses[event.changes["ip"]["before"]] = pk
    return undos


def _change(model: Table, names: Sequence[str], undos: Sequence[Undo]) -> None:
    """Let objects that were there all the time have the values of then in some columns."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    database = connections[DEFAULT_DB_ALIAS]  # `connection` looks for itself each time
    quote = database.ops.quote_name
    table, told = quote(model._meta.db_table), f"told_{model._meta.db_table}"
    columns = [quote(field.column) for field in fields]
    execute(
        f"CREATE TEMPORARY TABLE {quote(told)} AS"  # noqa: S608 - our names
        f" SELECT {', '.join(['id', *columns])} FROM {table} LIMIT 0"
    )
    rows = [
        (
            undo.pk,
            *(
                field.get_db_prep_save(value, database)
                for field, value in zip(fields, undo.values.values(), strict=True)
            ),
        )
        for undo in undos
    ]
    insert_rows(model, ["id", *names], rows, into=told)
    values = ", ".join(f"{each} = told.{each}" for each in columns)
    execute(
        f"UPDATE {table} SET {values} FROM {quote(told)} AS told"  # noqa: S608 - our names
        f" WHERE {table}.id = told.id"
    )
    execute(f"DROP TABLE {quote(told)}")


def _make_anew(model: Table, undos: Mapping[str, Undo]) -> None:
    """Let objects that came or went, or whose other columns follow, be as they were."""
    there: dict[str, Any] = {}
    for part in batches(list(undos)):
        found = _rows(model).filter(pk__in=part)
        there |= {row.pk: row for row in found}
        found._raw_delete(found.db)
    then = [
        _as_it_was(undo, there.get(pk) or model(pk=pk))
        for pk, undo in undos.items()
        if undo.existed or (undo.existed is None and pk in there)
    ]
    rows = [
        [
            field.get_db_prep_save(getattr(one, field.attname), connection)
            for field in model._meta.concrete_fields
        ]
        for one in then
    ]
    insert_rows(model, columns_of(model), rows)


def _as_it_was(undo: Undo, instance: models.Model) -> models.Model:
    for name, value in undo.values.items():
        setattr(instance, name, value)
    KINDS[type(instance)].complete(instance)
    return instance


def _lists_as_they_were(
    link: type[OrderedLink], told: Told, before: int
) -> dict[str, list[Any]]:
    lists = members_of(link, told.members)
    moved = set(told.reordered)
    for owner, firsts in told.members.items():
        was = {key: stood for key, (_, stood) in firsts.items()}
        now = lists[owner]
        there = set(now)
        back = [key for key, stood in was.items() if stood and key not in there]
        lists[owner] = [key for key in now if was.get(key, True)] + back
        # Who left since may be back, at the end: its place of then is not that of now.
        moved |= {owner} if any(was.values()) else set()
    some = {owner: lists[owner] for owner in moved}
    for owner, order in orders_before(link, some, before + 1).items():
        known = set(order)
        # All were there by then, so who is not told of came before the trail began. Where
        # comings have no events of their own, not all that is told is read.
        older = [key for key in lists[owner] if key not in known]
        whole = has_member_events(link)
        lists[owner] = older + order if whole else arranged(lists[owner], order)
    return lists


def _replace(link: type[OrderedLink], lists: Mapping[str, Sequence[Any]]) -> None:
    column = f"{link.owner_field}_id"
    for part in batches(list(lists)):
        rows = _rows(link).filter(**{f"{column}__in": part})
        rows._raw_delete(rows.db)
    # The copy has no sequence that would give ids.
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
