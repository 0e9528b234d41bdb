"""Reverting: the inverse of what was done, as a change of its own.

Nothing is done unless all can be: each object must still be what the events left, the
rules must accept what comes back, and nothing else may change with it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from copy import copy
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from django.db import models
from django.db.models import ProtectedError

from events.audit.audited import audited_bulk_create, current_values
from events.audit.changes import Change, changes_since, mark
from events.audit.emission import shown_value
from events.audit.reading import Trail
from events.audit.specs import member_events
from events.models import AuditEvent
from groups.audit import resource_names
from groups.models import GroupResource
from meshmgmt.accounts.models import User
from meshmgmt.core import context, resources
from meshmgmt.core.errors import Forbidden, ServiceError
from meshmgmt.core.orderedlinks import OrderedLink, member_keys, set_members
from meshmgmt.core.queries import known_ids
from meshmgmt.core.roles import Operation, allowed
from meshmgmt.core.transactions import MOST_CHANGES, account_write
from meshmgmt.history.inverse import Irreversible, Members, Undo, inverse_of, last_name
from meshmgmt.history.kinds import KINDS, Prepare
from meshmgmt.history.lists import Listing, arranged, members_of, orders_before

_ORDER: Final = list(KINDS)

MOST_OBJECTS: Final = MOST_CHANGES
"""What others can wait for; nearly all requests change no more in one transaction."""

MOST_EVENTS: Final = 20_000
"""Rows: a member of a list has an event of its own. So many take two to four seconds."""


class Reversal:
    """What takes events, given newest first, back: looked for before anybody has to wait.

    The trail before and in these events never changes, so only the objects are looked at
    again under the lock. Raises Irreversible for what is no change of an object, and for
    too much, before any event of a request is read whole.
    """

    def __init__(self, events: Sequence[AuditEvent] | Trail) -> None:
        if isinstance(events, models.QuerySet):
            _require_few_rows(events)
        self.events = list(events)
        self._numbers = ", ".join(str(event.pk) for event in reversed(self.events[:9]))
        self._undos = inverse_of(self.events)
        _require_few(self._undos, MOST_OBJECTS, "objects")
        self._orders = _orders(self._undos, self.events[-1].pk)

    def carry_out(self, by: User) -> None:
        """Take the events back.

        Raises Irreversible with every reason that stands in the way, Forbidden without
        the permission to change one of the objects, and what the rules find.
        """
        with account_write(), context.scope(reason=f"revert of {self._numbers}"):
            _check_is_something(self._undos)
            _check_permissions(self._undos, by)
            # What others refer to is made before them, and deleted after them.
            self._undos.sort(key=lambda undo: _ORDER.index(undo.model))
            # From here on the signals tell what is done, asked for or not.
            begin = mark()
            _Reverting(self._undos, self._orders, by).run()
            _check_nothing_else_changed(self._undos, begin)


def _require_few_rows(events: Trail) -> None:
    # To read events whole and invert them takes seconds.
    told = events.values_list("activity_code", "target_type", "target_id")
    rows = list(told[: MOST_EVENTS + 1])
    _require_few(rows, MOST_EVENTS, "events")
    objects = {tuple(of) for code, *of in rows if code not in member_events()}
    _require_few(objects, MOST_OBJECTS, "objects")


def _require_few(things: Sized, most: int, called: str) -> None:
    if len(things) > most:
        raise Irreversible(
            f"more than {most} {called} are too many to take back at once"
        )


def _orders(undos: Sequence[Undo], event_id: int) -> dict[Listing, list[Any]]:
    """Return the order before an event of the lists that get something back.

    Who only loses members keeps the order it has, whatever that was.
    """
    back: defaultdict[type[OrderedLink], dict[str, list[Any]]] = defaultdict(dict)
    for undo in undos:
        for link, members in undo.lists.items():
            if members.back or members.order:
                back[link][undo.pk] = members.back
    found: dict[Listing, list[Any]] = {}
    for link, lists in back.items():
        now = members_of(link, lists)
        known = {pk: list(dict.fromkeys([*now[pk], *lists[pk]])) for pk in lists}
        orders = orders_before(link, known, event_id)
        found |= {(link, pk): order for pk, order in orders.items()}
    return found


def _check_is_something(undos: Sequence[Undo]) -> None:
    if all(undo.does_nothing for undo in undos):
        raise Irreversible(
            "nothing can be taken back: parts of an object have events of their own, to be"
            " reverted alone or with the request"
        )


def _check_permissions(undos: Sequence[Undo], by: User) -> None:
    for undo in undos:
        kind = KINDS.get(undo.model)
        if kind is None:
            raise Irreversible(
                f"{undo.label}: objects of this kind are not brought back"
            )
        operation = Operation.UPDATE
        if undo.create or undo.delete:
            operation = Operation.CREATE if undo.create else Operation.DELETE
        if not allowed(by.role, kind.module, operation):
            raise Forbidden(f"permission denied: {undo.label} is not yours to change")


def _rounds(undos: Iterable[Undo]) -> Collection[Sequence[Undo]]:
    """Divide objects of one model that come back, no two of one place in a round.

    The rules about others at a place see only what is stored.
    """
    rounds: defaultdict[int, list[Undo]] = defaultdict(list)
    there: Counter[object] = Counter()
    for undo in undos:
        kind, instance = KINDS[undo.model], undo.model(pk=undo.pk, **undo.values)
        kind.complete(instance)
        place = kind.place(instance)
        rounds[there[place]].append(undo)
        there[place] += 1
    return rounds.values()


class _Reverting:
    """Does one revert, in the running write."""

    def __init__(
        self, undos: Sequence[Undo], orders: Mapping[Listing, list[Any]], by: User
    ) -> None:
        self._undos = undos
        self._orders = orders
        self._by = by
        self._found = _found(undos)
        self._checked: set[object] = set()
        self._related: dict[tuple[type[models.Model], Any], models.Model | None] = {}

    def run(self) -> None:
        """Look for reasons against it, then make, change, delete and check."""
        reasons = [reason for undo in self._undos for reason in self._reasons(undo)]
        if reasons:
            raise Irreversible("; ".join(reasons))
        leaves = [undo for undo in self._undos if KINDS[undo.model].is_leaf]
        others = [undo for undo in self._undos if not KINDS[undo.model].is_leaf]
        self._delete(leaves)
        # Made first, for lists and columns that are brought back may refer to it; deleted
        # last, when nothing refers to it any more.
        self._make(others)
        self._change(others)
        # What stood in the way of leaves has gone: they are looked at as they are made.
        self._change([undo for undo in leaves if not undo.create])
        self._make(leaves)
        self._change([undo for undo in leaves if undo.create])
        self._delete(others)
        self._settle()
        for undo in self._undos:
            self._check(undo)

    def _reasons(self, undo: Undo) -> list[str]:
        """Return what of the object is no longer as the events left it."""
        instance = self._found.get((undo.model, undo.pk))
        if undo.create:
            return [] if instance is None else [f"{undo.label} is there already"]
        if instance is None:
            return [f"{undo.label} was deleted since"]
        values = current_values(undo.spec, instance)
        changed = [
            name
            for name, expected in undo.now.items()
            # Of a secret the trail says only that it became another.
            if name not in undo.spec.secret and shown_value(values[name]) != expected
        ]
        changed += [
            link.relation
            for link in resources.lists(undo.model).values()
            if (undo.delete or link in undo.lists)
            and not undo.lists.get(link, Members()).is_as_left(
                member_keys(link, instance), whole=undo.delete
            )
        ]
        return [f"{undo.label}: {name} was changed since" for name in changed]

    def _make(self, undos: Iterable[Undo]) -> None:
        coming = [undo for undo in undos if undo.create]
        for model, of_model in groupby(coming, attrgetter("model")):
            preparing = KINDS[model].preparing
            prepare = preparing and preparing()
            for some in _rounds(of_model):
                audited_bulk_create([self._made(undo, prepare) for undo in some])

    def _made(self, undo: Undo, prepare: Prepare | None) -> Any:
        """Return an object that is to come back, looked at by its rules."""
        instance = undo.model(pk=undo.pk, **undo.values)
        self._relate(undo, instance)
        lists = {link.relation: members.back for link, members in undo.lists.items()}
        self._found[undo.model, undo.pk] = instance
        if prepare is not None:
            self._with_rules(undo, lambda: prepare(instance, lists))
            self._checked.add(undo.pk)  # by all rules: no second look
        return instance

    def _relate(self, undo: Undo, instance: models.Model) -> None:
        """Give an object what it refers to: thousands may be parts of one whole."""
        for column in instance._meta.concrete_fields:
            key, other = getattr(instance, column.attname), column.related_model
            # Databases look at foreign keys at the commit, too late for a sentence.
            if key is None or not isinstance(other, type):
                continue
            if (other, key) not in self._related:
                row = other._base_manager.filter(pk=key).first()
                self._related[other, key] = row
            if (row := self._related[other, key]) is None:
                kind = other._meta.verbose_name
                raise Irreversible(f"{undo.label}: its {kind} was deleted since")
            setattr(instance, column.name, row)

    def _change(self, undos: Sequence[Undo]) -> None:
        for undo in undos:
            if not undo.delete:
                self._change_one(undo)

    def _change_one(self, undo: Undo) -> None:
        instance = self._found[undo.model, undo.pk]
        update = KINDS[undo.model].update
        columns = {} if undo.create else undo.values
        if columns and update is not None:
            self._with_rules(undo, lambda: update(instance.pk, columns, self._by))
        elif columns:
            for name, value in columns.items():
                setattr(instance, name, value)
            KINDS[undo.model].complete(instance)
            instance.save()
        for link, members in undo.lists.items():
            before = [] if undo.create else member_keys(link, instance)
            back, out = members.back, members.out
            wanted = [key for key in before if key not in out]
            if back or members.order:
                _check_there(undo, link, back)
                wanted = arranged([*wanted, *back], self._orders[link, undo.pk])
            set_members(link, instance, wanted, new=undo.create, before=before)

    def _delete(self, undos: Sequence[Undo]) -> None:
        for undo in reversed(undos):
            if undo.delete:
                self._delete_one(undo)

    def _delete_one(self, undo: Undo) -> None:
        instance = self._found[undo.model, undo.pk]
        delete = KINDS[undo.model].delete
        try:
            # What is gone forgets its key, which messages and checks ask for.
            self._with_rules(undo, lambda: delete(copy(instance), self._by))
        except ProtectedError as error:
            raise Irreversible(f"{undo.label} is in use since") from error

    def _settle(self) -> None:
        """Let columns that follow from others be right, whatever came back before them."""
        for model, undos in groupby(self._undos, attrgetter("model")):
            some, kind = list(undos), KINDS[model]
            kind.follow([undo.pk for undo in some if undo.create])
            for undo in some:
                if not (undo.create or undo.delete):
                    settle = partial(kind.settle, undo.pk, undo.values)
                    self._with_rules(undo, settle)

    def _check(self, undo: Undo) -> None:
        instance = self._found[undo.model, undo.pk]
        kind = KINDS[undo.model]
        if (whole := getattr(instance, kind.part_of)) in self._checked:
            return
        self._checked.add(whole)
        if not undo.delete:
            # Rules look at what is stored, and an update may have gone past this instance.
            instance.refresh_from_db()
        check = kind.check_gone if undo.delete else kind.check
        self._with_rules(undo, lambda: check(instance, self._by))

    def _with_rules(self, undo: Undo, do: Any) -> None:
        try:
            do()
        except Forbidden:
            raise  # 403, not one more reason for a 409
        except ServiceError as error:
            raise Irreversible(
                f"{undo.label}: {error.message}", error.errors
            ) from error


def _found(undos: Sequence[Undo]) -> dict[tuple[type[models.Model], str], Any]:
    """Return the objects that are there, by model and key."""
    found: dict[tuple[type[models.Model], str], Any] = {}
    for model in {undo.model for undo in undos}:
        rows: models.QuerySet[Any] = models.QuerySet(model)
        there = rows.in_bulk([undo.pk for undo in undos if undo.model is model])
        found |= {(model, str(pk)): row for pk, row in there.items()}
    return found


def _check_there(undo: Undo, link: type[OrderedLink], keys: Sequence[Any]) -> None:
    """Raise Irreversible when something that is to come back to a list is gone."""
    ids = [key[0] if isinstance(key, tuple) else key for key in keys]
    if link is GroupResource:
        there = {pk for pk, _ in resource_names(keys)}
    else:
        other: Any = link._meta.get_field(link.member_fields[0]).related_model
        there = set(known_ids(other, ids))
    if gone := [pk for pk in ids if pk not in there]:
        name = last_name(str(gone[0])) or repr(gone[0])
        raise Irreversible(f"{undo.label}: {link.relation} is gone: {name}")


def _check_nothing_else_changed(undos: Sequence[Undo], begin: int) -> None:
    meant = {(undo.model, undo.pk) for undo in undos}
    others = [
        change
        for change in changes_since(begin)
        if change.happened
        and (type(change.instance), str(change.pk)) not in meant
        and not _only_follows(change)
    ]
    if others:
        names = ", ".join(
            f"{change.instance._meta.verbose_name}"
            f" {getattr(change.instance, 'name', '') or change.pk!r}"
            for change in others[:9]
        )
        raise Irreversible(f"taking it back would change others, too: {names}")


def _only_follows(change: Change) -> bool:
    """Tell whether a change is of columns alone that follow from other objects."""
    kind = KINDS.get(type(change.instance))
    if kind is None or change.created or change.deleted:
        return False
    fields = change.changed_fields
    return kind.following.issuperset(fields) and not any(change.members.values())
