"""The inverse of what events of the audit trail tell, object by object."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from django.db import models

from events.activities import Activity
from events.audit.specs import AuditSpec, all_specs
from events.models import AuditEvent
from meshmgmt.core.account import account_id
from meshmgmt.core.errors import Conflict
from meshmgmt.core.orderedlinks import OrderedLink, all_links
from meshmgmt.inventory.models import Peer

MEMBERS: Final[Mapping[str, tuple[str, str, bool]]] = {
    Activity.PEER_GROUP_ADD: ("group", "peers", True),
    Activity.PEER_GROUP_DELETE: ("group", "peers", False),
    Activity.RESOURCE_GROUP_ADD: ("group", "resources", True),
    Activity.RESOURCE_GROUP_DELETE: ("group", "resources", False),
    Activity.USER_GROUP_ADD: ("user", "auto_groups", True),
    Activity.USER_GROUP_DELETE: ("user", "auto_groups", False),
    Activity.SETUPKEY_GROUP_ADD: ("setupkey", "auto_groups", True),
    Activity.SETUPKEY_GROUP_DELETE: ("setupkey", "auto_groups", False),
    Activity.DNS_SETTING_DISABLED_MANAGEMENT_GROUP_ADD: (
        "dnssettings",
        "disabled_management_groups",
        True,
    ),
    Activity.DNS_SETTING_DISABLED_MANAGEMENT_GROUP_DELETE: (
        "dnssettings",
        "disabled_management_groups",
        False,
    ),
}
"""Events about one member of a list: kind of the owner, list, whether it came."""

MOST: Final = 5000
"""So many events are looked at for one answer; more would keep the database busy."""

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
    def label(self) -> str:
        """How messages call the object."""
        kind = str(self.model._meta.verbose_name)
        return f"{kind} {self.name or self.pk!r}"

    @property
    def does_nothing(self) -> bool:
        members = any(
            list_.back or list_.out or list_.order for list_ in self.lists.values()
        )
        return not (self.create or self.delete or self.then or members)

    def members(self, link: type[OrderedLink]) -> Members:
        return self.lists.setdefault(link, Members())


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


def list_changes(event: AuditEvent) -> Iterator[tuple[Listing, dict[str, list[Any]]]]:
    """Yield the lists that an event tells of, each with what was `added` and `removed`.

    Its whole `order` is there where these two do not give it.
    """
    kind, target = event.target_type, event.target_id
    changes = event.changes
    if event.activity_code in MEMBERS:
        kind, relation, came = MEMBERS[event.activity_code]
        target, member = _member(event, kind, relation)
        there, gone = ([member], []) if came else ([], [member])
        changes = {relation: {"added": there, "removed": gone}}
    for link in all_links():
        if owner_of(link)._meta.model_name == kind and link.relation in changes:
            told = changes[link.relation]
            yield (
                (link, _pk(kind, target)),
                {deed: [*map(_key, keys)] for deed, keys in told.items()},
            )


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
    codes = [code for code, (_, relation, _) in MEMBERS.items() if relation == "peers"]
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
            undo = of(owner_of(link)._meta.model_name, pk, meta.get("group", ""))
            undo.lists.setdefault(link, Members()).undo(change)
        if event.activity_code in MEMBERS:
            continue
        if kind not in specs or not event.changes:
            raise Irreversible(
                f"event {event.pk} ({event.activity}) is not a change of an object"
            )
        _take_back(of(kind, _pk(kind, event.target_id), meta.get("name", "")), event)
    return list(found.values())


def _member(event: AuditEvent, kind: str, relation: str) -> tuple[str, Any]:
    """Return the ids of the owner and the member that an event is about."""
    meta = event.meta
    if kind != "group":
        return event.target_id, meta["group_id"]
    if relation == "peers":
        return meta["group_id"], event.target_id
    return meta["id"], (meta["resource_id"], meta["resource_type"])


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


def _pk(kind: str, target: str) -> str:
    """Return the key of an object by what events name; DNS settings are the account's."""
    return "1" if kind == "dnssettings" else target


def _key(member: Any) -> Any:
    return tuple(member) if isinstance(member, list) else member
