"""Rebuilds the state of every audited object from the audit trail alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dns.models import DnsSettings
from events.activities import Activity
from events.audit.emission import _masked, shown_value
from events.audit.signals import current_values
from events.audit.specs import AuditSpec, all_specs
from events.models import AuditEvent
from meshmgmt.core.orderedlinks import OrderedLink, all_links

Key = tuple[str, str]
"""Name of the model and id of the object."""

# Lists of groups that have only events per member: code, model, list, comes or goes.
MEMBER_EVENTS: Final[Mapping[str, tuple[str, str, bool]]] = {
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


# Members of groups: code, list, comes or goes.
MEMBERS_OF_GROUPS: Final[Mapping[str, tuple[str, bool]]] = {
    Activity.PEER_GROUP_ADD: ("peers", True),
    Activity.PEER_GROUP_DELETE: ("peers", False),
    Activity.RESOURCE_GROUP_ADD: ("resources", True),
    Activity.RESOURCE_GROUP_DELETE: ("resources", False),
}


@dataclass
class State:
    """Values by object and column; members by object and list."""

    values: dict[Key, dict[str, Any]] = field(default_factory=dict)
    members: dict[tuple[Key, str], list[Any]] = field(default_factory=dict)

    def change_members(
        self, key: Key, relation: str, added: Iterable[Any], removed: Iterable[Any]
    ) -> None:
        """Append what came and drop what went, each once."""
        gone = list(removed)
        kept = [m for m in self.members.get((key, relation), []) if m not in gone]
        kept += [m for m in added if m not in kept]
        self._set_members(key, relation, kept)

    def set_order(self, key: Key, relation: str, order: list[Any]) -> None:
        """Make `order` the whole list."""
        self._set_members(key, relation, order)

    def _set_members(self, key: Key, relation: str, members: list[Any]) -> None:
        self.members.pop((key, relation), None)
        if members:
            self.members[key, relation] = members

    def forget(self, key: Key) -> None:
        """Drop an object and its lists."""
        del self.values[key]
        for place in [place for place in self.members if place[0] == key]:
            del self.members[place]


def replayed() -> State:
    """Return the state that the whole trail leads to."""
    state = State()
    specs = {spec.model._meta.model_name or "": spec for spec in all_specs()}
    for event in AuditEvent.objects.order_by("id"):
        if event.activity_code in MEMBER_EVENTS:
            _apply_member(state, event)
        elif event.activity_code in MEMBERS_OF_GROUPS:
            _apply_group_member(state, event)
        elif event.target_type in specs and event.changes:
            _apply(state, event, specs[event.target_type])
    return state


def _apply_member(state: State, event: AuditEvent) -> None:
    model, relation, comes = MEMBER_EVENTS[event.activity_code]
    key = _of_settings((model, event.target_id))
    group = [event.meta["group_id"]]
    state.change_members(key, relation, group if comes else [], [] if comes else group)


def _apply_group_member(state: State, event: AuditEvent) -> None:
    relation, comes = MEMBERS_OF_GROUPS[event.activity_code]
    meta = event.meta
    group_id = meta["group_id"] if relation == "peers" else meta["id"]
    member: Any = event.target_id
    if relation == "resources":
        member = [meta["resource_id"], meta["resource_type"]]
    key = ("group", group_id)
    if key in state.values:  # members of a group made by this write are in group.add
        came, gone = ([member], []) if comes else ([], [member])
        state.change_members(key, relation, came, gone)


def _of_settings(key: Key) -> Key:
    """Return the key of the DNS settings, whose events name the account as target."""
    return (key[0], "1") if key[0] == "dnssettings" else key


def _apply(state: State, event: AuditEvent, spec: AuditSpec) -> None:
    key = (event.target_type, event.target_id)
    columns = {name: v for name, v in event.changes.items() if name in spec.columns}
    if spec.deleted == event.activity_code:
        held = {name: value["before"] for name, value in columns.items()}
        assert state.values[key] == held, f"{event.activity_code} shows what was there"
        state.forget(key)
        return
    key = _by_address(state, _of_settings(key))
    known = state.values.setdefault(key, {}) if spec.columns else {}
    for name, value in columns.items():
        assert known.get(name) == value["before"] or value["before"] == "changed"
        known[name] = value["after"]
    for relation, change in event.changes.items():
        if relation in spec.columns or relation in {"id", "rules"}:
            continue  # rules of a policy have events of their own
        state.change_members(key, relation, change["added"], change["removed"])
        if "order" in change:
            state.set_order(key, relation, change["order"])


def _by_address(state: State, key: Key) -> Key:
    """Return the key of a peer whose event names its address as target."""
    if key[0] != "peer" or "." not in key[1]:
        return key
    return next(k for k, v in state.values.items() if v.get("ip") == key[1])


def stored() -> State:
    """Return the state that the database holds."""
    state = State()
    for spec in all_specs():
        model = spec.model._meta.model_name or ""
        if spec.model is DnsSettings:
            continue  # a row without columns, which the trail does not mention
        for instance in spec.model._default_manager.all():
            # Events of tokens name the user as their target (reference API).
            owner = getattr(instance, "user_id", "")
            pk = owner if model == "accesstoken" else instance.pk
            assert (model, str(pk)) not in state.values
            state.values[model, str(pk)] = {
                name: _masked(value) if name in spec.secret else shown_value(value)
                for name, value in current_values(spec, instance).items()
            }
    for link in all_links():
        _add_members(state, link)
    return state


def _add_members(state: State, link: type[OrderedLink]) -> None:
    owner = link._meta.get_field(link.owner_field).related_model
    assert not isinstance(owner, str)
    assert owner is not None
    model = owner._meta.model_name or ""
    for row in link._default_manager.order_by("position", "id"):
        key = (model, str(getattr(row, f"{link.owner_field}_id")))
        members = state.members.setdefault((key, link.relation), [])
        members.append(shown_value(row.member_key))
