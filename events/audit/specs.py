"""Which change of which model becomes which activity: a registry filled by the apps.

Each app registers one `AuditSpec` per audited model in its `audit.register()`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from typing import Any, Final

from django.db import models

from events.activities import SWITCHES, Activity
from events.audit.changes import Change, MemberKey
from meshmgmt.core.orderedlinks import OrderedLink, all_links
from meshmgmt.core.registry import Registry

Meta = dict[str, Any]
ActivityOf = str | Callable[[Change], str]
"""A code, or what chooses one."""
Link = type[OrderedLink]

CAME: Final = "+"
WENT: Final = "-"
_LISTS: Final = "lists"
"""Ends the keys of events that tell of several members at once, and of their order."""


@dataclass(frozen=True, slots=True)
class MemberEvent:
    """Target and meta of the event about one member; the type is a model's name."""

    target_id: str
    target_type: str
    meta: Meta


def _owner_and_group(event: Any) -> tuple[str, MemberKey]:
    return event.target_id, event.meta.get("group_id", "")


@dataclass(frozen=True, slots=True)
class MemberRule:
    """What a change of one relation emits.

    `owner` is the code of the single event about the owner; `added` and `removed` give
    one event per member, described in bulk by `describe(owner, keys)`; `identify` reads
    the owner's id and the member back from such an event. `reordered` is the owner's
    code, where there is no `owner`, when they do not tell the new order.
    """

    owner: Activity | None = None
    reordered: Activity | None = None
    added: Activity | None = None
    removed: Activity | None = None
    describe: Callable[[Any, Sequence[Any]], Mapping[MemberKey, MemberEvent]] | None = (
        None
    )
    identify: Callable[[Any], tuple[str, MemberKey]] = _owner_and_group


@dataclass(frozen=True, slots=True)
class AuditSpec:
    """How changes of one model are reported.

    `updated` is the code of every field not named in `fields`. Fields in `unaudited`
    emit nothing (connection state and the like), nor do those in `reported` when the
    object itself reports them; those in `secret` are kept as `"changed"`, those in
    `shown` as the function there returns them (given None, None), and those in
    `random` are drawn, or may be, so that two writes that are alike differ there. `meta`
    describes the object, `update_meta` replaces it for updates, `part_of` names the
    foreign key to the object that this one is a part of, and what the parts are called
    there: their changes are updates of that object, too. `target` gives the target id
    per activity (default: the object's id); an object that is made or deleted under
    another target is named as `id` among the changes.
    """

    model: type[models.Model]
    created: ActivityOf | None = None
    updated: ActivityOf | None = None
    deleted: ActivityOf | None = None
    fields: Mapping[str, ActivityOf] = field(default_factory=dict)
    members: Mapping[str, MemberRule] = field(default_factory=dict)
    unaudited: frozenset[str] = frozenset()
    reported: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()
    shown: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    random: frozenset[str] = frozenset()
    part_of: tuple[str, str] | None = None
    meta: Callable[[Any], Meta] = lambda instance: {}
    update_meta: Callable[[Change, str], Meta] | None = None
    target: Callable[[Change, str], str] = lambda change, activity: str(change.pk)

    @property
    def columns(self) -> tuple[str, ...]:
        """Attribute names of the audited columns, in the model's order."""
        return _columns(self.model, self.unaudited)

    def activity_for(self, name: str) -> ActivityOf | None:
        return self.fields.get(name, self.updated)

    def activities(self) -> Iterable[str]:
        """Return the codes this spec can emit, where they are constants."""
        candidates = [self.created, self.updated, self.deleted, *self.fields.values()]
        for rule in self.members.values():
            candidates += [rule.owner, rule.reordered, rule.added, rule.removed]
        return [code for code in candidates if isinstance(code, str)]


@cache
def _columns(model: type[models.Model], but: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        column.attname
        for column in model._meta.concrete_fields
        if not column.primary_key and column.attname not in but
    )


_specs: Final = Registry[type[models.Model], AuditSpec]()


def register(*specs: AuditSpec) -> None:
    """Add the specs of models. Raises ValueError when there is one already."""
    for spec in specs:
        _specs.add(spec.model, spec)


def written(
    model: type[models.Model], stem: str, *lists: str, **more: Any
) -> AuditSpec:
    """Return the spec of a model whose codes are `stem` with what was done to it.

    That is `create` (of some `add`), `update` and `delete`. A change of one of `lists`
    is an update of its owner.
    """
    made = f"{stem}.create"
    updated = Activity(f"{stem}.update")
    return AuditSpec(
        model,
        Activity(made if made in Activity.values else f"{stem}.add"),
        updated,
        Activity(f"{stem}.delete"),
        **{"members": {name: MemberRule(owner=updated) for name in lists}, **more},
    )


def switched(field: str, on: str, off: str) -> ActivityOf:
    """Return the code of a field that is switched on or off."""
    return lambda change: on if change.after[field] else off


def switches(codes: Mapping[str, str]) -> dict[str, ActivityOf]:
    """Return the codes of switches by field. Raises ValueError for what is none."""
    if unknown := set(codes.values()) - SWITCHES.keys():
        raise ValueError(f"{unknown} are no switches")
    return {
        name: switched(name, f"{code}.enable", f"{code}.disable")
        for name, code in codes.items()
    }


def register_members(
    model: type[models.Model], relation: str, rule: MemberRule
) -> None:
    """Add the rule of a list that an upper room hangs on a model of a lower one.

    Raises ValueError when the model has no spec or the relation a rule already.
    """
    spec = _specs.get(model)
    if spec is None or relation in spec.members:
        raise ValueError(f"{model.__name__}.{relation} cannot be given a rule")
    _specs[model] = replace(spec, members={**spec.members, relation: rule})


def spec_of(model: type[models.Model]) -> AuditSpec | None:
    """Return the spec of `model`, None when it is not audited."""
    return _specs.get(model)


def all_specs() -> list[AuditSpec]:
    return list(_specs.values())


def owner_of(link: Link) -> type[models.Model]:
    """Return the model that has a list."""
    owner: Any = link._meta.get_field(link.owner_field).related_model
    return owner  # type: ignore[no-any-return]


@cache
def member_events() -> dict[str, tuple[Link, MemberRule, bool]]:
    """Return which activities tell of one member: list, its rule, whether it came."""
    found: dict[str, tuple[Link, MemberRule, bool]] = {}
    for link in all_links():
        spec = spec_of(owner_of(link))
        rule = spec.members.get(link.relation) if spec is not None else None
        if rule is not None and rule.added and rule.removed:
            found |= {
                str(rule.added): (link, rule, True),
                str(rule.removed): (link, rule, False),
            }
    return found


def history_key(event: Any) -> str:
    """Return the key of what an event is about; "" of one that changes nothing."""
    code = str(event.activity_code)
    if code in member_events():
        link, rule, came = member_events()[code]
        owner, member = rule.identify(event)
        return member_key(link, owner, member, CAME if came else WENT)
    if not event.changes:
        return ""
    # A digest: names of thirty fields would make keys, and their index, as long as rows.
    fields = blake2b("\0".join(sorted(event.changes)).encode(), digest_size=8)
    key = f"{event.target_type}/{event.target_id}/{fields.hexdigest()}"
    return f"{key}/{_LISTS}" if any(map(_is_list, event.changes.values())) else key


def member_key(link: Link, owner: str, member: Any, sign: str) -> str:
    return f"{link._meta.model_name}/{owner}/{_text(member)}/{sign}"


def _is_list(change: Mapping[str, Any]) -> bool:
    """Tell a list of members from a field, and from parts with events of their own."""
    return "added" in change and "changed" not in change


def _text(member: Any) -> str:
    return "/".join(member) if isinstance(member, tuple) else str(member)


def has_member_events(link: Link) -> bool:
    """Tell whether who comes to a list, or goes, has an event of its own."""
    return any(link is one for one, *_ in member_events().values())


def read_member(link: Link, key: str) -> tuple[str, Any, bool]:
    """Return owner, member and whether it came, of the key of an event about a member."""
    _, owner, told = key.split("/", 2)
    member, parts = told[:-2], len(link.member_fields)
    if parts == 1:
        return owner, member, told[-1] == CAME
    # Only the first of several columns, an id that others made, may hold a slash.
    return owner, tuple(member.rsplit("/", parts - 1)), told[-1] == CAME


def tells_lists(key: str) -> bool:
    """Tell whether events with a key tell of several members, each of others."""
    return key.endswith(f"/{_LISTS}")
