"""The inverse of what events of the audit trail tell, object by object."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import models

from events.activities import Activity
from events.audit.histories import ToldEvent
from events.audit.reading import left_since
from events.audit.specs import AuditSpec, all_specs, member_events, owner_of
from events.models import AuditEvent
from groups.models import GroupPeer
from meshmgmt.core.errors import Conflict
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.history.lists import Change, arranged, list_changes, owner_id
from meshmgmt.inventory.models import Peer

_FOLLOWING: Final = frozenset({Activity.ACCESS_TEST_FAIL, Activity.ACCESS_TEST_PASS})
"""What follows from other changes, and goes with them."""


class Irreversible(Conflict):
    """Something stands in the way of reverting; the sentence says what."""


@dataclass(slots=True)
class Members:
    """Who must be in a list `now` and who was `then`; `order` is what it was left in."""

    now: dict[Any, bool] = field(default_factory=dict)
    then: dict[Any, bool] = field(default_factory=dict)
    order: list[Any] | None = None

    @property
    def back(self) -> list[Any]:
        """Who comes back."""
        return [key for key, was in self.then.items() if was and not self.now[key]]

    @property
    def out(self) -> set[Any]:
        """Who goes."""
        return {key for key, there in self.now.items() if there and not self.then[key]}

    def undo(self, change: Change) -> None:
        """Take one more event back, older than those before."""
        # The same may be told twice: by the event of a list, and by that of a member.
        for deed, came in (("added", True), ("removed", False)):
            for key in change[deed]:
                self.now.setdefault(key, came)
                self.then[key] = not came
        # Events come newest first: the first order met is the one that was left.
        self.order = self.order or change.get("order")

    def is_as_left(self, now: list[Any], *, whole: bool) -> bool:
        """Tell whether a list has what came to it, and not what went, in the order left.

        The `whole` list of a new object has nothing else.
        """
        there = set(now)
        if whole:
            return there == self.out
        if arranged(now, self.order or []) != now:
            return False
        return there.issuperset(self.out) and there.isdisjoint(self.back)


@dataclass(slots=True)
class Undo:
    """How one object is brought back to what it was."""

    spec: AuditSpec
    pk: str
    name: str = ""
    create: bool = False
    delete: bool = False
    existed: bool | None = None
    """Whether it was there before; None where no event made or deleted it."""
    now: dict[str, Any] = field(default_factory=dict)
    """What each column must hold now, or something was changed since."""
    then: dict[str, Any] = field(default_factory=dict)
    lists: dict[type[OrderedLink], Members] = field(default_factory=dict)

    @property
    def model(self) -> type[models.Model]:
        return self.spec.model

    @property
    def values(self) -> dict[str, Any]:
        """What to store, of the columns that the events tell of."""
        column: Any = self.model._meta.get_field
        return {name: column(name).to_python(v) for name, v in self.then.items()}

    @property
    def label(self) -> str:
        """How messages call the object: by its name now, else as the trail did last."""
        name = self.name
        if not name:
            rows: models.QuerySet[Any] = models.QuerySet(self.model)
            row = rows.filter(pk=self.pk).first()
            name = last_name(self.pk) if row is None else str(row)
        return f"{self.model._meta.verbose_name} {name or repr(self.pk)}"

    @property
    def does_nothing(self) -> bool:
        members = any(
            list_.back or list_.out or list_.order for list_ in self.lists.values()
        )
        return not (self.create or self.delete or self.then or members)


def last_name(pk: str) -> str:
    """Return what the trail called an object last, "" where it did not."""
    event = AuditEvent.objects.filter(target_id=pk).order_by("-id").first()
    return event.target_name if event and event.target_name != pk else ""


def inverse_of(events: Iterable[AuditEvent]) -> list[Undo]:
    """Return what takes events, given newest first, back.

    Raises Irreversible for an event that tells of no change of an object, or of a
    secret that the trail does not hold.
    """
    specs = {spec.model._meta.model_name: spec for spec in all_specs()}
    found: dict[tuple[type[models.Model] | None, str], Undo] = {}

    def of(kind: str | None, pk: str, name: str) -> Undo:
        spec = specs[kind]
        undo = found.setdefault((spec.model, pk), Undo(spec, pk))
        undo.name = undo.name or name
        return undo

    for event in events:
        meta, kind = event.meta, event.target_type
        for (link, pk), change in list_changes(event):
            # Events about a member call the group of a peer so.
            name = meta.get("group", "") if link is GroupPeer else ""
            undo = of(owner_of(link)._meta.model_name, pk, name)
            undo.lists.setdefault(link, Members()).undo(change)
        if event.activity_code in _FOLLOWING or event.activity_code in member_events():
            continue
        if kind not in specs or not event.changes:
            raise Irreversible(
                f"event {event.pk} ({event.activity}) is not a change of an object"
            )
        take_back(of(kind, _object_id(event), meta.get("name", "")), event)
    return list(found.values())


def _object_id(event: AuditEvent) -> str:
    """Return the key of the object; some events name a peer by its address of then."""
    address = event.target_id
    if event.target_type != Peer._meta.model_name or "." not in address:
        return owner_id(event)
    holders = Peer.objects.filter(ip=address).values_list("pk", flat=True)
    return left_since(event, address) or holders.first() or address


def take_back(
    undo: Undo, event: AuditEvent | ToldEvent, *, to_look: bool = False
) -> None:
    """Take one more event back, older than those before.

    Raises Irreversible for a secret that the trail does not hold, unless it is only
    `to_look`: then secrets stay as they are.
    """
    spec, audited = undo.spec, undo.spec.columns
    column: Any = spec.model._meta.get_field
    came = went = False
    for name, value in event.changes.items():
        if name not in audited:
            continue
        before, after = value["before"], value["after"]
        if not column(name).null:  # must have a value, unless there is no object
            came, went = came or before is None, went or after is None
        if name in spec.secret and to_look:
            continue
        if name in spec.secret and before is not None:
            raise Irreversible(
                f"{undo.label}: {name} is a secret, which the trail does not hold"
            )
        # The newest event says what must be there now, the oldest what was before all.
        undo.now.setdefault(name, after)
        undo.then[name] = before
    if went:
        undo.create, undo.delete = not undo.delete, False
        undo.existed = True
    elif came:
        undo.create, undo.delete = False, not undo.create
        undo.existed = False
