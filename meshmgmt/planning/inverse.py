"""The inverse of what events of the audit trail tell, object by object."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import models

from events.activities import Activity
from events.audit.specs import AuditSpec, all_specs
from events.models import AuditEvent
from meshmgmt.core.errors import Conflict
from meshmgmt.core.orderedlinks import OrderedLink, all_links

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

_SETTINGS_KEY: Final = "1"
"""Key of the row of DNS settings, whose events name the account."""

Key = tuple[str, str]
"""Kind of an object, as events call it, and its id."""


class Irreversible(Conflict):
    """Something stands in the way of reverting; the sentence says what."""


@dataclass(slots=True)
class Members:
    """What a list gets back, and what it loses."""

    back: list[Any] = field(default_factory=list)
    out: list[Any] = field(default_factory=list)

    def undo(self, added: Iterable[Any], removed: Iterable[Any]) -> None:
        """Take one more event back, older than those before."""
        for key in added:
            self._move(key, self.back, self.out)
        for key in removed:
            self._move(key, self.out, self.back)

    def is_as_left(self, now: Iterable[Any], *, whole: bool) -> bool:
        """Tell whether a list has what came to it, and not what went.

        The `whole` list of a new object has nothing else.
        """
        there = set(now)
        if whole:
            return there == set(self.out)
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
    lists: dict[str, Members] = field(default_factory=dict)

    @property
    def model(self) -> type[models.Model]:
        return self.spec.model

    @property
    def label(self) -> str:
        """How messages call the object."""
        kind = str(self.model._meta.verbose_name)
        return f"{kind} {self.name or self.pk!r}"

    @property
    def does_nothing(self) -> bool:
        members = any(list_.back or list_.out for list_ in self.lists.values())
        return not (self.create or self.delete or self.then or members)

    def members(self, relation: str) -> Members:
        return self.lists.setdefault(relation, Members())


def relations_of(model: type[models.Model]) -> list[str]:
    """Return the names of the ordered lists of a model."""
    return [
        link.relation
        for link in all_links()
        if link._meta.get_field(link.owner_field).related_model is model
    ]


def link_of(model: type[models.Model], relation: str) -> type[OrderedLink] | None:
    """Return the ordered list of a model by its name in events."""
    for link in all_links():
        owner = link._meta.get_field(link.owner_field).related_model
        if owner is model and link.relation == relation:
            return link
    return None


def inverse_of(events: Iterable[AuditEvent]) -> list[Undo]:
    """Return what takes events, given newest first, back.

    Raises Irreversible for an event that tells of no change of an object, or of a
    secret that the trail does not hold.
    """
    specs = {spec.model._meta.model_name or "": spec for spec in all_specs()}
    found: dict[Key, Undo] = {}

    def of(kind: str, pk: str, name: str = "") -> Undo:
        key = (kind, _SETTINGS_KEY if kind == "dnssettings" else pk)
        if key not in found:
            found[key] = Undo(specs[kind], key[1])
        found[key].name = found[key].name or name
        return found[key]

    for event in events:
        if event.activity_code in MEMBERS:
            kind, relation, came = MEMBERS[event.activity_code]
            owner, member = _member(event, kind, relation)
            name = event.meta.get("group", "") if kind == "group" else ""
            members = of(kind, owner, name).members(relation)
            members.undo([member] if came else [], [] if came else [member])
        elif event.target_type in specs and event.changes:
            undo = of(event.target_type, event.target_id, event.meta.get("name", ""))
            _take_back(undo, event)
        else:
            raise Irreversible(
                f"event {event.pk} ({event.activity}) is not a change of an object"
            )
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
    for relation, change in event.changes.items():
        if relation in columns or link_of(spec.model, relation) is None:
            continue  # parts have events of their own
        members = undo.members(relation)
        members.undo(map(_key, change["added"]), map(_key, change["removed"]))


def _is_absent(
    model: type[models.Model], columns: Mapping[str, Any], side: str
) -> bool:
    """Tell whether there was no object on one side: what must have a value has none."""
    needed = {
        column.attname for column in model._meta.concrete_fields if not column.null
    }
    return any(value[side] is None for name, value in columns.items() if name in needed)


def _key(member: Any) -> Any:
    return tuple(member) if isinstance(member, list) else member
