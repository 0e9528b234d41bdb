"""Pages of policy rules; a rule is written as a part of its policy."""

import re
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from groups.models import Group, GroupPeer
from meshmgmt.access.admin.fields import KeyField, groups_field
from meshmgmt.access.models import (
    Action,
    Policy,
    PolicyRule,
    Protocol,
    RuleDestination,
    RuleSource,
)
from meshmgmt.access.rules.policies import (
    PortRange,
    ResourceRef,
    RuleDraft,
)
from meshmgmt.access.services.policies import policy_update, stored_draft
from meshmgmt.api.admin import ServiceAdmin, ServiceForm, number_of
from meshmgmt.api.adminfields import LinesField
from meshmgmt.api.adminlook import enabled, spelt
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import NetworkResource

_OWN = re.compile(r"rules\[(\d+)\]\.?")
_PEER: Final = GroupPeer._meta.get_field("peer")


def _resource_field(label: str) -> forms.ModelChoiceField:  # type: ignore[type-arg]
    """Return a choice of one resource of a network by its name, or none."""
    resources = NetworkResource.objects.order_by("name", "id")
    return forms.ModelChoiceField(resources, required=False, label=label)


class PortsField(forms.CharField):
    """Ports and ranges of ports, separated by commas or blanks."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        kwargs.setdefault("help_text", "Numbers, or ranges such as 8000-8010.")
        super().__init__(**kwargs)

    def clean(self, value: Any) -> tuple[list[str], list[PortRange]]:
        words = re.split(r"[\s,]+", super().clean(value).strip())
        found = [re.fullmatch(r"(\d{1,5})-(\d{1,5})", word) for word in words]
        ranges = [PortRange(int(x[1]), int(x[2])) for x in found if x is not None]
        pairs = zip(words, found, strict=True)
        return [word for word, match in pairs if word and match is None], ranges


def ports_text(rule: RuleDraft) -> str:
    """Return the ports of a rule as the form shows them."""
    ranges = (f"{ports.start}-{ports.end}" for ports in rule.port_ranges)
    return ", ".join([*rule.ports, *ranges])


PROTOCOLS: Final = [(value, spelt(label)) for value, label in Protocol.choices]


class RuleFields(ServiceForm):
    """The fields of a rule; forms of policies have them for their first rule."""

    rule_name = forms.CharField(label="Rule name", required=False, strip=False)
    action = forms.ChoiceField(choices=Action.choices)
    protocol = forms.ChoiceField(choices=PROTOCOLS)
    bidirectional = forms.BooleanField(required=False, initial=True)
    ports = PortsField()
    sources = groups_field(RuleSource, help_text="Groups, or one of the next two.")
    source_peer = KeyField(_PEER, label="Source peer")
    source_resource = _resource_field("Source resource")
    destinations = groups_field(
        RuleDestination, help_text="Groups, or one of the next two."
    )
    destination_peer = KeyField(_PEER, label="Destination peer")
    destination_resource = _resource_field("Destination resource")
    authorized_groups = LinesField(
        help_text="NetBird SSH alone: a group per line, and after a colon the local users"
        " that its users may sign in as, such as Admins: root deploy."
    )

    field_names = {
        "name": "rule_name",
        "port_ranges": "ports",
        "sourceResource": "source_resource",
        "destinationResource": "destination_resource",
    }

    def rule_draft(self, data: dict[str, Any]) -> RuleDraft:
        ports, ranges = data["ports"]
        return RuleDraft(
            name=data["rule_name"],
            action=data["action"],
            protocol=data["protocol"],
            bidirectional=data["bidirectional"],
            ports=ports,
            port_ranges=ranges,
            sources=data["sources"] or None,
            destinations=data["destinations"] or None,
            source_resource=_resource(data, "source"),
            destination_resource=_resource(data, "destination"),
            authorized_groups=dict(map(_authorized, data["authorized_groups"])),
        )


def _authorized(line: str) -> tuple[str, list[str]]:
    """Return a group's id and local users. Raises ServiceError for an unknown name."""
    name, colon, users = line.rpartition(":")
    name = name.strip() if colon else line
    found = Group.objects.filter(Q(name=name) | Q(pk=name)).order_by("id").first()
    if found is None:
        text = f"no group is called {name!r}"
        raise ServiceError(text, [FieldError("authorized_groups", text)])
    return found.pk, users.split() if colon else []


def _resource(data: dict[str, Any], end: str) -> ResourceRef | None:
    """Return what stands in place of groups. Raises ServiceError for two."""
    peer, resource = data[f"{end}_peer"], data[f"{end}_resource"]
    if peer and resource:
        text = "choose a peer or a resource, not both"
        raise ServiceError(text, [FieldError(f"{end}_resource", text)])
    if resource:
        return ResourceRef(resource.pk, resource.type)
    return ResourceRef(peer, "peer") if peer else None


class PolicyRuleForm(RuleFields):
    policy = KeyField(PolicyRule._meta.get_field("policy"))

    class Meta:
        model = PolicyRule
        fields = ["description", "enabled"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.adding:
            return
        rule = self.instance
        draft = stored_draft(rule.policy, [rule]).rules[0]
        for name in ("action", "protocol", "bidirectional", "sources", "destinations"):
            self.initial.setdefault(name, getattr(draft, name))
        self.initial["rule_name"] = draft.name
        self.initial["ports"] = ports_text(draft)
        groups = Group.objects.in_bulk(list(draft.authorized_groups))
        self.initial["authorized_groups"] = [
            f"{groups[pk].name}: {' '.join(users)}".removesuffix(": ")
            for pk, users in draft.authorized_groups.items()
        ]
        for end in ("source", "destination"):
            kind = getattr(rule, f"{end}_resource_type")
            field = f"{end}_{'peer' if kind == 'peer' else 'resource'}"
            self.initial[field] = getattr(rule, f"{end}_resource_id")

    def apply(self, data: dict[str, Any]) -> PolicyRule:
        """Put the rule at its place of the policy, a new one at the end."""
        wanted = replace(
            self.rule_draft(data),
            id="" if self.adding else self.instance.pk,
            description=data["description"],
            enabled=data["enabled"],
        )
        policy_id = data["policy"] if self.adding else self.instance.policy_id
        with account_write():
            stored = list(PolicyRule.objects.filter(policy=policy_id))
            stored.sort(key=lambda rule: (rule.position, rule.pk))
            place = next(
                (at for at, rule in enumerate(stored) if rule.pk == wanted.id),
                len(stored),
            )
            return self._written(policy_id, stored, place, wanted)

    def _written(
        self, policy_id: str, stored: list[PolicyRule], place: int, wanted: RuleDraft
    ) -> PolicyRule:
        policy = Policy.objects.filter(pk=policy_id).first()
        if policy is None:
            message = "choose the policy of the rule"
            raise ServiceError(message, [FieldError("policy", message)])
        drafts = list(stored_draft(policy, stored).rules)
        drafts[place : place + 1] = [wanted]
        try:
            policy_update(policy_id=policy_id, changes={"rules": drafts})
        except ServiceError as error:
            raise _of_rule(error, place) from error
        return PolicyRule.objects.get(policy=policy_id, position=place)


def _of_rule(error: ServiceError, place: int) -> ServiceError:
    """Return the error with the fields of the rule at `place` under their own names."""
    faults = []
    for fault in error.errors:
        match = _OWN.match(fault.field)
        if match is None or int(match[1]) != place:
            message = f"another rule of the policy is faulty: {fault.message}"
            faults.append(FieldError("", message))
        else:
            faults.append(FieldError(fault.field[match.end() :], fault.message))
    return ServiceError(error.message, faults)


@admin.register(PolicyRule)
class PolicyRuleAdmin(ServiceAdmin):
    form = PolicyRuleForm
    list_display = [
        *("name", "policy", enabled, "action", "protocol", "bidirectional"),
        number_of("source_links", "source groups"),
        number_of("destination_links", "destination groups"),
    ]
    list_filter = ["enabled", "action", "protocol", "bidirectional"]
    list_select_related = ["policy"]
    search_fields = ["name", "policy__name", "=id"]
    ordering = ["policy", "position", "id"]
    fields = [
        *("policy", "rule_name", "description", "enabled", "action", "protocol"),
        *("ports", "bidirectional", "sources"),
        *("source_peer", "source_resource", "destinations"),
        *("destination_peer", "destination_resource"),
        "authorized_groups",
    ]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields; a rule stays in its policy."""
        return self.fields if obj is None else ["id", *(self.fields or [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [] if obj is None else ["id", "policy"]

    def delete_object(self, instance: PolicyRule) -> None:
        """Take the rule out of its policy, which needs at least one."""
        with account_write():
            policy = instance.policy
            stored = list(policy.rules.order_by("position", "id"))
            drafts = stored_draft(policy, stored).rules
            kept = [draft for draft in drafts if draft.id != instance.pk]
            policy_update(policy_id=policy.pk, changes={"rules": kept})
