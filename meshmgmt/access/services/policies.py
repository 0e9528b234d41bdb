"""Writes of policies and their rules. Every function runs in one account write."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groups.models import GroupLink
from groups.selectors import known_groups, resource_types
from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    PostureCheck,
    RuleAuthorizedGroup,
    RuleDestination,
    RuleSource,
)
from meshmgmt.access.rules.policies import (
    PolicyDraft,
    PolicyFacts,
    PortRange,
    ResourceRef,
    RuleDraft,
    policy_errors,
)
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.queries import found, known_ids
from meshmgmt.core.transactions import account_write

KIND: Final = "policy"


def policy_create(*, draft: PolicyDraft) -> Policy:
    """Create a policy; ids of rules in the draft count for nothing.

    Raises InvalidArgument.
    """
    with account_write():
        draft = replace(draft, rules=[replace(rule, id="") for rule in draft.rules])
        _check(draft, [])
        policy = Policy(
            name=draft.name, description=draft.description, enabled=draft.enabled
        )
        policy.save(force_insert=True)
        set_members(PolicyPostureCheck, policy, draft.source_posture_checks, new=True)
        for position, rule in enumerate(draft.rules):
            _write_rule(PolicyRule(policy=policy), rule, position, new=True)
        return policy


def policy_update(*, policy_id: str, changes: Mapping[str, Any]) -> Policy:
    """Change the fields of the draft that are given, keep the rest.

    A rule keeps its identity by its id; one without id takes the place of the stored
    rule at its position that no other names. Raises NotFound, InvalidArgument.
    """
    with account_write():
        policy = found(Policy, policy_id, kind=KIND)
        stored = list(policy.rules.order_by("position", "id"))
        draft = replace(stored_draft(policy, stored), **changes)
        draft = replace(draft, rules=_identified(draft.rules, stored))
        _check(draft, stored)
        policy.name = draft.name
        policy.description = draft.description
        policy.enabled = draft.enabled
        policy.save()
        set_members(PolicyPostureCheck, policy, draft.source_posture_checks)
        _write_rules(policy, draft.rules, stored)
        return policy


def policy_delete(*, policy_id: str) -> None:
    """Delete a policy with its rules. Raises NotFound."""
    with account_write():
        found(Policy, policy_id, kind=KIND).delete()


def stored_draft(policy: Policy, rules: Sequence[PolicyRule]) -> PolicyDraft:
    """Return a stored policy in the form in which clients send one."""
    return PolicyDraft(
        name=policy.name,
        description=policy.description,
        enabled=policy.enabled,
        source_posture_checks=member_keys(PolicyPostureCheck, policy),
        rules=[stored_rule(rule) for rule in rules],
    )


def stored_rule(rule: PolicyRule) -> RuleDraft:
    """Return a stored rule in the form in which clients send one."""
    return RuleDraft(
        id=rule.pk,
        name=rule.name,
        description=rule.description,
        enabled=rule.enabled,
        action=rule.action,
        bidirectional=rule.bidirectional,
        protocol=rule.protocol,
        ports=rule.ports,
        port_ranges=[PortRange(**ports) for ports in rule.port_ranges],
        sources=_groups(RuleSource, rule, rule.source_resource_id),
        destinations=_groups(RuleDestination, rule, rule.destination_resource_id),
        source_resource=_resource(rule.source_resource_id, rule.source_resource_type),
        destination_resource=_resource(
            rule.destination_resource_id, rule.destination_resource_type
        ),
        authorized_groups={
            group_id: users.splitlines()
            for group_id, users in member_keys(RuleAuthorizedGroup, rule)
        },
    )


def _groups(
    link: type[GroupLink], rule: PolicyRule, resource_id: str
) -> list[str] | None:
    return None if resource_id else member_keys(link, rule)


def _resource(identifier: str, kind: str) -> ResourceRef | None:
    return ResourceRef(identifier, kind) if identifier else None


def _identified(
    rules: Sequence[RuleDraft], stored: Sequence[PolicyRule]
) -> list[RuleDraft]:
    """Give rules without id that of the stored rule whose place they take."""
    named = {rule.id for rule in rules}
    return [
        replace(rule, id=stored[position].pk)
        if not rule.id and position < len(stored) and stored[position].pk not in named
        else rule
        for position, rule in enumerate(rules)
    ]


def _check(draft: PolicyDraft, stored: Sequence[PolicyRule]) -> None:
    groups = [group_id for rule in draft.rules for group_id in rule.group_ids]
    ends = [end.id for rule in draft.rules for end in rule.resources]
    facts = PolicyFacts(
        groups=known_groups(groups),
        posture_checks=known_ids(PostureCheck, draft.source_posture_checks),
        rules={rule.pk for rule in stored},
        resources=resource_types(ends),
    )
    raise_field_errors(policy_errors(draft, facts))


def _write_rules(
    policy: Policy, drafts: Sequence[RuleDraft], stored: Sequence[PolicyRule]
) -> None:
    by_id = {rule.pk: rule for rule in stored}
    for position, draft in enumerate(drafts):
        rule = by_id.pop(draft.id, None)
        if rule is None:
            _write_rule(PolicyRule(policy=policy), draft, position, new=True)
        else:
            _write_rule(rule, draft, position, new=False)
    for rule in by_id.values():
        rule.delete()


def _write_rule(
    rule: PolicyRule, draft: RuleDraft, position: int, *, new: bool
) -> None:
    rule.position = position
    for name in (
        "name",
        "description",
        "enabled",
        "action",
        "bidirectional",
        "protocol",
    ):
        setattr(rule, name, getattr(draft, name))
    rule.ports = list(draft.ports)
    rule.port_ranges = [
        {"start": ports.start, "end": ports.end} for ports in draft.port_ranges
    ]
    for end in ("source", "destination"):
        resource: ResourceRef | None = getattr(draft, f"{end}_resource")
        setattr(rule, f"{end}_resource_id", resource.id if resource else "")
        setattr(rule, f"{end}_resource_type", resource.type if resource else "")
    rule.save(force_insert=new)
    set_members(RuleSource, rule, draft.sources or (), new=new)
    set_members(RuleDestination, rule, draft.destinations or (), new=new)
    set_members(
        RuleAuthorizedGroup,
        rule,
        [
            (group_id, "\n".join(users))
            for group_id, users in draft.authorized_groups.items()
        ],
        new=new,
    )
