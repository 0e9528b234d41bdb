"""Rebuilds the state of every audited object from the audit trail alone."""

from dataclasses import dataclass, field
from typing import Any

from dns.models import DnsSettings
from events.audit.audited import current_values
from events.audit.emission import _masked, shown_value
from events.audit.specs import AuditSpec, all_specs, owner_of
from events.models import AuditEvent
from meshmgmt.core.orderedlinks import OrderedLink, all_links
from meshmgmt.history.lists import list_changes, move

Key = tuple[str, str]
"""Name of the model and id of the object."""


@dataclass
class State:
    """Values by object and column; members by object and list."""

    values: dict[Key, dict[str, Any]] = field(default_factory=dict)
    members: dict[tuple[Key, str], list[Any]] = field(default_factory=dict)

    def set_members(self, key: Key, relation: str, members: list[Any]) -> None:
        """Make `members` the whole list."""
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
        if event.target_type in specs and event.changes:
            _apply(state, event, specs[event.target_type])
        for (link, owner), change in list_changes(event):
            key = (owner_of(link)._meta.model_name or "", owner)
            if key in state.values or key[0] == "dnssettings":  # not deleted by it
                known = dict.fromkeys(state.members.get((key, link.relation), []))
                move(known, change)
                state.set_members(key, link.relation, list(known))
    return state


def _apply(state: State, event: AuditEvent, spec: AuditSpec) -> None:
    key = (event.target_type, event.target_id)
    columns = {name: v for name, v in event.changes.items() if name in spec.columns}
    if spec.deleted == event.activity_code:
        held = {name: value["before"] for name, value in columns.items()}
        assert state.values[key] == held, f"{event.activity_code} shows what was there"
        state.forget(key)
        return
    key = _by_address(state, key)
    known = state.values.setdefault(key, {}) if spec.columns else {}
    for name, value in columns.items():
        assert known.get(name) == value["before"] or value["before"] == "changed"
        known[name] = value["after"]


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
    model = owner_of(link)._meta.model_name or ""
    for row in link._default_manager.order_by("position", "id"):
        key = (model, str(getattr(row, f"{link.owner_field}_id")))
        members = state.members.setdefault((key, link.relation), [])
        members.append(row.member_key)
