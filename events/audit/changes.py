"""What happened to objects during one account write, before it becomes events.

Each observed step rides on Django's list of callbacks for after the commit, because Django
itself drops the entries of a savepoint that is rolled back: a step that was undone leaves
no trace here either.

Events are made at the end of the write, when an object named in them may be gone already:
then the instance that was deleted in this very write answers for it. Each object is read
once per write, however many events name it.
"""

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from django.db import models, transaction

from meshmgmt.core import context
from meshmgmt.core.orderedlinks import OrderedLink, member_keys
from meshmgmt.core.queries import batches, stored

MemberKey = Hashable
Values = dict[str, Any]
ModelT = TypeVar("ModelT", bound=models.Model)
_Known = dict[tuple[type[models.Model], Any], models.Model | None]

_known: ContextVar[_Known | None] = ContextVar("audit_lookup", default=None)


@dataclass(slots=True)
class Step:
    """One save, deletion or membership change, as a signal reported it."""

    kind: Literal["created", "updated", "deleted", "members"]
    instance: models.Model
    pk: Any
    before: Values = field(default_factory=dict)
    after: Values = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    link: type[OrderedLink] | None = None
    added: list[MemberKey] = field(default_factory=list)
    removed: list[MemberKey] = field(default_factory=list)
    order: list[MemberKey] | None = None
    listed: list[MemberKey] | None = None
    reason: str = ""
    taken: bool = False

    def __call__(self) -> None:
        """Do nothing after the commit; see the module's text."""


@dataclass(slots=True)
class Members:
    """What a list gained and lost.

    `order` is the whole list where dropping and appending members does not give it,
    `before` the list before the write, None where nobody read it.
    """

    link: type[OrderedLink]
    before: list[MemberKey] | None = None
    added: dict[MemberKey, None] = field(default_factory=dict)
    removed: dict[MemberKey, None] = field(default_factory=dict)
    order: list[MemberKey] | None = None
    order_is_old: bool = False

    def fold(self, step: Step) -> None:
        """Take in one more step; a member that went and came back counts as kept."""
        # Who went and came again stands at the end now, which neither list tells.
        came_back = any(key in self.removed for key in step.added)
        self.order_is_old = step.order is None and (
            self.order_is_old or came_back or self.order is not None
        )
        self.order = step.order if step.order is not None else self.order
        for key in step.removed:
            if key in self.added:
                del self.added[key]
            else:
                self.removed[key] = None
        for key in step.added:
            if key in self.removed:
                del self.removed[key]
            else:
                self.added[key] = None

    def settle(self, owner: models.Model) -> None:
        """Read the order as the write leaves it, where its steps do not tell."""
        if self.order_is_old:
            self.order = member_keys(self.link, owner)
        if self.order == self.before:
            self.order = None

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.order is not None)


@dataclass(slots=True)
class Change:
    """All steps on one object during one write, folded to their net effect."""

    instance: models.Model
    pk: Any
    created: bool = False
    deleted: bool = False
    before: Values = field(default_factory=dict)
    after: Values = field(default_factory=dict)
    meta_at_deletion: dict[str, str] = field(default_factory=dict)
    members: dict[str, Members] = field(default_factory=dict)
    parts: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    reason: str = ""

    def changed(self, name: str) -> bool:
        return name in self.after and self.before.get(name) != self.after[name]

    @property
    def changed_fields(self) -> list[str]:
        """Names of the fields whose value differs, in the model's order."""
        return [name for name in self.after if self.changed(name)]

    @property
    def values(self) -> dict[str, tuple[Any, Any]]:
        """What fields were and are: those that differ, of what came or went all."""
        if self.created:
            return {name: (None, value) for name, value in self.after.items()}
        if self.deleted:
            return {name: (value, None) for name, value in self.before.items()}
        return {
            name: (self.before.get(name), self.after[name])
            for name in self.changed_fields
        }

    @property
    def happened(self) -> bool:
        """Whether anything is another than before."""
        if self.created or self.deleted:
            return self.created != self.deleted
        return bool(self.changed_fields or any(self.members.values()))

    def note_part(self, relation: str, part: "Change") -> None:
        """Note that a part of the object came, went or changed."""
        deed = "added" if part.created else "removed" if part.deleted else "changed"
        empty: dict[str, list[Any]] = {"added": [], "removed": [], "changed": []}
        self.parts.setdefault(relation, empty)[deed].append(part.pk)

    def fold(self, step: Step) -> None:
        self.reason = self.reason or step.reason
        if step.link is not None:
            first = Members(step.link, step.listed)
            self.members.setdefault(step.link.relation, first).fold(step)
            return
        self.instance = step.instance
        self.created = self.created or step.kind == "created"
        if step.kind == "deleted":
            self.deleted = True
            self.meta_at_deletion = step.meta
        # The first save knows what was before the write, the last what it leaves.
        for name, value in step.before.items():
            self.before.setdefault(name, value)
        self.after.update(step.after)


def record(step: Step) -> None:
    """Keep `step` until the running account write ends."""
    step.reason = context.current().reason
    transaction.on_commit(step)


def take_pending() -> list[Change]:
    """Return the net changes of the running write, oldest first, and mark them taken."""
    steps = [step for step in _steps() if not step.taken]
    for step in steps:
        # Marked, not removed: plans fold all of a write again, after its events are made.
        step.taken = True
    return _folded(steps)


def mark() -> int:
    """Return where the running transaction stands, for `changes_since`."""
    return len(transaction.get_connection().run_on_commit)


def changes_since(begin: int) -> list[Change]:
    """Return the net changes since `mark()` said so, taken or not."""
    return _folded(_steps(begin))


def _folded(steps: Iterable[Step]) -> list[Change]:
    changes: dict[tuple[type[models.Model], Any], Change] = {}
    for step in steps:
        key = (type(step.instance), step.pk)
        if key not in changes:
            changes[key] = Change(step.instance, step.pk)
        changes[key].fold(step)
    for change in changes.values():
        # Lists of what is deleted are gone, and need no order.
        for members in () if change.deleted else change.members.values():
            members.settle(change.instance)
    return list(changes.values())


def _steps(begin: int = 0) -> Iterator[Step]:
    for _, callback, *_ in transaction.get_connection().run_on_commit[begin:]:
        if isinstance(callback, Step):
            yield callback


@contextmanager
def emission(changes: Iterable[Change]) -> Iterator[None]:
    """Make the objects made and deleted by `changes` known to `objects_by_id`.

    Django takes the id off an object that it deleted; here it has it back.
    """
    changes = list(changes)
    deleted = [change for change in changes if change.deleted]
    for change in deleted:
        change.instance.pk = change.pk
    token = _known.set(
        {
            (type(change.instance), change.pk): change.instance
            for change in changes
            if change.deleted or change.created
        }
    )
    try:
        yield
    finally:
        _known.reset(token)
        for change in deleted:
            change.instance.pk = None


@contextmanager
def remembering() -> Iterator[None]:
    """Read each object once for the duration of the block (deleting many objects)."""
    token = _known.set(dict(_known.get() or {}))
    try:
        yield
    finally:
        _known.reset(token)


def objects_by_id(model: type[ModelT], ids: Iterable[Any]) -> dict[Any, ModelT]:
    """Return the objects with `ids` that exist or were deleted in this write."""
    known = _known.get()
    if known is None:
        known = {}
    wanted = list(dict.fromkeys(ids))
    missing = [pk for pk in wanted if (model, pk) not in known]
    # What is not there is remembered, too: who names it again asks no second time.
    known.update({(model, pk): None for pk in missing})
    known.update({(model, found.pk): found for found in stored(model, missing)})
    return {
        pk: instance for pk in wanted if isinstance(instance := known[model, pk], model)
    }


def facts_by_id(
    model: type[models.Model], ids: Iterable[Any], *columns: str
) -> dict[Any, tuple[Any, ...]]:
    """Return columns of the objects that `objects_by_id` would find, without the rest.

    For events about thousands of objects: loading one takes ten times as long as its row.
    """
    known, wanted = _known.get() or {}, dict.fromkeys(ids)
    found = {
        pk: tuple(getattr(instance, name) for name in columns)
        for pk in wanted
        if (instance := known.get((model, pk))) is not None
    }
    for part in batches([pk for pk in wanted if pk not in found]):
        rows = model._default_manager.filter(pk__in=part).order_by()
        found |= {row[0]: row[1:] for row in rows.values_list("pk", *columns)}
    return found


def related_object(instance: models.Model, name: str) -> Any:
    """Return what the foreign key `name` of `instance` refers to; None for nothing.

    What is cached on the instance costs nothing; anything else is read once per write.
    """
    relation = instance._meta.get_field(name)
    if not isinstance(relation, models.ForeignKey):
        raise TypeError(f"{name} is not a foreign key")
    if relation.is_cached(instance):
        return getattr(instance, name)
    key = getattr(instance, relation.attname)
    return objects_by_id(relation.related_model, [key]).get(key)
