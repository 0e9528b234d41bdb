"""The inverse of what events of the audit trail tell, object by object."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, cast

from django.db import models

from events.activities import Activity
from events.audit.specs import AuditSpec, all_specs, spec_of
from events.models import AuditEvent
from groups.models import GroupPeer, GroupResource
from meshmgmt.core.account import account_id
from meshmgmt.core.errors import Conflict
from meshmgmt.core.orderedlinks import OrderedLink, all_links
from meshmgmt.inventory.models import Peer

MOST: Final = 5000
"""So many events are looked at for one answer; more would keep the database busy."""

_FOLLOWING: Final = frozenset({Activity.ACCESS_TEST_FAIL, Activity.ACCESS_TEST_PASS})
"""What follows from other changes, and goes with them."""

Listing = tuple[type[OrderedLink], str]
"""A kind of list, and the id of its owner."""


class Irreversible(Conflict):
    """Something stands in the way of reverting; the sentence says what."""


@dataclass(slots=True)
class Members:
    """What a list gets back, and what it loses; `order` is what it was left in."""

    back: list[Any] = field(default_factory=list)
    out: list[Any] = field(default_factory=list)
    order: list[Any] | None = None

    def undo(self, change: Mapping[str, list[Any]]) -> None:
        """Take one more event back, older than those before."""
        for key in change["added"]:
            self._move(key, self.back, self.out)
        for key in change["removed"]:
            self._move(key, self.out, self.back)
        self.order = self.order or change.get("order")

    def is_as_left(self, now: list[Any], *, whole: bool) -> bool:
        """Tell whether a list has what came to it, and not what went, in the order left.

        The `whole` list of a new object has nothing else.
        """
        there = set(now)
        if whole:
            return there == set(self.out)
        if arranged(now, self.order or []) != now:
            return False
        return there.issuperset(self.out) and there.isdisjoint(self.back)

    @staticmethod
    def _move(key: Any, away: list[Any], to: list[Any]) -> None:
        if key in away:
            away.remove(key)
        elif key not in to:
            to.append(key)


@dataclass(slots=True)
class Undo:
    """How one object is brought back to what it was."""

    spec: AuditSpec
    pk: str
    name: str = ""
    create: bool = False
    delete: bool = False
    now: dict[str, Any] = field(default_factory=dict)
    """What each column must hold now, or something was changed since."""
    then: dict[str, Any] = field(default_factory=dict)
    lists: dict[type[OrderedLink], Members] = field(default_factory=dict)

    @property
    def model(self) -> type[models.Model]:
        return self.spec.model

    @property
    def rows(self) -> Any:
        """The row, to be changed unseen; some events name a peer by its address."""
        by_address = self.model is Peer and "." in self.pk
        column = "ip" if by_address else "pk"
        return models.QuerySet(self.model).filter(**{column: self.pk})

    @property
    def values(self) -> dict[str, Any]:
        """What to store, of the columns that the events tell of."""
        columns = {each.attname: each for each in self.model._meta.concrete_fields}
        return {name: columns[name].to_python(v) for name, v in self.then.items()}

    @property
    def label(self) -> str:
        """How messages call the object."""
        kind = str(self.model._meta.verbose_name)
        return f"{kind} {self.name or self._known_as or repr(self.pk)}"

    @property
    def _known_as(self) -> str:
        """Its name now, else what the trail called it last; "" where it has none."""
        row = self.rows.first()
        return last_name(self.pk) if row is None else str(row)

    @property
    def does_nothing(self) -> bool:
        members = any(
            list_.back or list_.out or list_.order for list_ in self.lists.values()
        )
        return not (self.create or self.delete or self.then or members)

    def members(self, link: type[OrderedLink]) -> Members:
        return self.lists.setdefault(link, Members())


def last_name(pk: str) -> str:
    """Return what the trail called an object last, "" where it did not."""
    event = AuditEvent.objects.filter(target_id=pk).order_by("-id").first()
    return event.target_name if event and event.target_name != pk else ""


def arranged(members: Sequence[Any], order: Iterable[Any]) -> list[Any]:
    """Return members with those that `order` names in it, the others where they are."""
    there = set(members)
    named = [key for key in order if key in there]
    places, known = set(named), iter(named)
    return [next(known) if key in places else key for key in members]


def lists_of(model: type[models.Model]) -> list[type[OrderedLink]]:
    """Return the ordered lists of a model."""
    return [link for link in all_links() if owner_of(link) is model]


def owner_of(link: type[OrderedLink]) -> type[models.Model]:
    """Return the model that has a list."""
    field = link._meta.get_field(link.owner_field)
    return cast("type[models.Model]", field.related_model)


@cache
def member_events() -> dict[str, tuple[type[OrderedLink], bool]]:
    """Return which activities tell of one member: of which list, and whether it came."""
    found: dict[str, tuple[type[OrderedLink], bool]] = {}
    for link in all_links():
        spec = spec_of(owner_of(link))
        rule = spec.members.get(link.relation) if spec is not None else None
        if rule is not None and rule.added and rule.removed:
            found |= {str(rule.added): (link, True), str(rule.removed): (link, False)}
    return found


def list_changes(event: AuditEvent) -> Iterator[tuple[Listing, dict[str, list[Any]]]]:
    """Yield the lists that an event tells of, each with what was `added` and `removed`.

    Its whole `order` is there where these two do not give it.
    """
    if event.activity_code in member_events():
        link, came = member_events()[event.activity_code]
        owner, member = _member(event, link)
        there, gone = ([member], []) if came else ([], [member])
        yield (link, owner), {"added": there, "removed": gone}
        return
    for link in all_links():
        kind = owner_of(link)._meta.model_name
        if kind == event.target_type and link.relation in event.changes:
            told = event.changes[link.relation]
            listed = {deed: [_key(key) for key in keys] for deed, keys in told.items()}
            yield (link, _pk(event)), listed


def moved(members: Iterable[Any], change: Mapping[str, list[Any]]) -> list[Any]:
    """Return a list as an event left it."""
    gone = set(change["removed"])
    kept = dict.fromkeys(key for key in members if key not in gone)
    return change.get("order") or list(kept | dict.fromkeys(change["added"]))


def orders_before(
    event_id: int, lists: Collection[Listing]
) -> dict[Listing, list[Any]]:
    """Return the lists in the order that the events before one left them in.

    So many events as one look back undoes are read; of older ones nothing is known.
    """
    owners = {pk for _, pk in lists}
    codes = (
        Activity.PEER_GROUP_ADD,
        Activity.PEER_GROUP_DELETE,
    )  # their target: the peer
    about = AuditEvent.objects.filter(
        models.Q(target_id__in=owners | {account_id()})
        | models.Q(activity_code__in=codes, meta__group_id__in=owners),
        id__lt=event_id,
    )
    found: dict[Listing, list[Any]] = {one: [] for one in lists}
    for event in reversed(about.defer("search").order_by("-id")[:MOST]):
        for one, change in list_changes(event):
            if one in found:
                found[one] = moved(found[one], change)
    return found


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
            undo = of(owner_of(link)._meta.model_name, pk, _owner_name(meta, link))
            undo.lists.setdefault(link, Members()).undo(change)
        if event.activity_code in _FOLLOWING or event.activity_code in member_events():
            continue
        if kind not in specs or not event.changes:
            raise Irreversible(
                f"event {event.pk} ({event.activity}) is not a change of an object"
            )
        _take_back(of(kind, _pk(event), meta.get("name", "")), event)
    return list(found.values())


def _owner_name(meta: Mapping[str, Any], link: type[OrderedLink]) -> str:
    """Return what an event calls the owner of a list, where that is a group."""
    return str(meta.get("group", "")) if link is GroupPeer else ""


def _member(event: AuditEvent, link: type[OrderedLink]) -> tuple[str, Any]:
    """Return the ids of the owner and the member that an event is about."""
    meta = event.meta
    if link is GroupPeer:
        return meta["group_id"], event.target_id
    if link is GroupResource:
        return meta["id"], (meta["resource_id"], meta["resource_type"])
    return _pk(event), meta["group_id"]


def _take_back(undo: Undo, event: AuditEvent) -> None:
    spec = undo.spec
    columns = {n: v for n, v in event.changes.items() if n in spec.columns}
    for name, value in columns.items():
        if name in spec.secret and value["before"] is not None:
            raise Irreversible(
                f"{undo.label}: {name} is a secret, which the trail does not hold"
            )
        undo.now.setdefault(name, value["after"])
        undo.then[name] = value["before"]
    if _is_absent(spec.model, columns, "after"):
        undo.create, undo.delete = not undo.delete, False
    elif _is_absent(spec.model, columns, "before"):
        undo.create, undo.delete = False, not undo.create


def _is_absent(
    model: type[models.Model], columns: Mapping[str, Any], side: str
) -> bool:
    """Tell whether there was no object on one side: what must have a value has none."""
    needed = {
        column.attname for column in model._meta.concrete_fields if not column.null
    }
    return any(value[side] is None for name, value in columns.items() if name in needed)


def _pk(event: AuditEvent) -> str:
    """Return the key of the object of an event; of DNS settings it names the account."""
    return "1" if event.target_type == "dnssettings" else event.target_id


def _key(member: Any) -> Any:
    return tuple(member) if isinstance(member, list) else member
