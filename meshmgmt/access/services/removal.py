"""What happens to access objects when what they name changes or goes.

What an operator wrote is never deleted by deleting something that it names: it loses the
name, and is disabled where it would let in more. docs/deletion.md has the table.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q

from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    PostureCheck,
    Route,
    Router,
)
from meshmgmt.core import context
from meshmgmt.core.orderedlinks import remove_from_lists
from meshmgmt.core.queries import batches


def take_peers_out(ids: Sequence[str], **kwargs: Any) -> None:
    """Let go of peers that are about to be deleted.

    Rules, routes and routers that name one lose it and are disabled.
    """
    for part in batches(ids):
        _empty_rule_ends(part)
        for model in (Route, Router):
            for forwarder in model.objects.filter(peer__in=part).order_by("id"):
                # One by one: audited models refuse updates that would write no events.
                forwarder.peer = None
                forwarder.enabled = False
                forwarder.save(update_fields=["peer", "enabled"])


def take_resources_out(ids: Sequence[str], **kwargs: Any) -> None:
    """Let go of resources that are about to be deleted, as of peers."""
    for part in batches(ids):
        _empty_rule_ends(part)


def take_posture_check_out(check: PostureCheck) -> None:
    """Let go of a posture check that is about to be deleted.

    What accepts under it is disabled, for without it that would let in more. What drops
    stays: without it that drops more. So a policy is disabled, or, while a rule of it
    drops, only its rules that accept.
    """
    with context.scope(reason=f"posture check {check.name!r} was deleted"):
        touched = remove_from_lists(PolicyPostureCheck, posture_check_id=check.pk)
        for part in batches([policy.pk for policy in touched]):
            policies = Policy.objects.filter(pk__in=part, enabled=True).order_by("id")
            on = PolicyRule.objects.filter(enabled=True, policy__in=policies)
            dropping = set(on.filter(action="drop").values_list("policy_id", flat=True))
            accepting = on.exclude(action="drop").filter(policy__in=dropping)
            _disable(accepting.order_by("id"))
            _disable(policies.exclude(pk__in=dropping))


def disable_policies_without_rules(rules: Sequence[PolicyRule]) -> None:
    """Disable the policies of rules just disabled that have no enabled one left."""
    for part in batches(list({rule.policy_id for rule in rules})):
        touched = Policy.objects.filter(pk__in=part)
        _disable(touched.exclude(rules__enabled=True).order_by("id"))


def retype_rules(resource_id: str, kind_before: str, kind: str) -> None:
    """Name a resource by the type it has now in rules that named it by the one before."""
    # A type that was never its own was sent so, and is answered so.
    named = (resource_id, kind_before)
    for rule in _rules_for([resource_id]):
        for end in ("source", "destination"):
            if rule.resource(end) == named:
                rule.set_resource(end, resource_id, kind)
        rule.save()


def _rules_for(ids: Sequence[str]) -> list[PolicyRule]:
    ends = Q(source_resource_id__in=ids) | Q(destination_resource_id__in=ids)
    return list(PolicyRule.objects.filter(ends).order_by("id"))


def _empty_rule_ends(ids: Sequence[str]) -> None:
    """Disable the rules that name one of the ids, and policies left with none."""
    gone = set(ids)
    rules = _rules_for(ids)
    for rule in rules:
        for end in ("source", "destination"):
            if rule.resource(end)[0] in gone:
                rule.set_resource(end)
        rule.enabled = False
        rule.save()
    disable_policies_without_rules(rules)


def _disable(found: Iterable[Policy | PolicyRule]) -> None:
    for one in found:
        if one.enabled:
            one.enabled = False
            one.save(update_fields=["enabled"])
