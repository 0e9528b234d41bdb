"""Writes of policies, their rules and posture checks; the policy of a new account."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pycountry
from django.conf import settings
from django.db.models import QuerySet

from events.models import AuditEvent
from groups.selectors import all_group_id, known_groups, resource_types
from meshmgmt.access.models import (
    Policy,
    PolicyRule,
    PostureCheck,
    RuleAuthorizedGroup,
    RuleDestination,
    RuleSource,
)
from meshmgmt.access.rules.policies import (
    PolicyFacts,
    PortRange,
    ResourceRef,
    RuleDraft,
    is_long,
    policy_errors,
)
from meshmgmt.access.rules.posture import canonical_checks, posture_errors
from meshmgmt.access.selectors.policies import RuleLists
from meshmgmt.access.services.removal import take_posture_check_out
from meshmgmt.accounts.models import User
from meshmgmt.core.errors import FieldError
from meshmgmt.core.orderedlinks import OrderedLink, set_members
from meshmgmt.core.queries import tables_exist
from meshmgmt.core.resources import Resource, Row, Write, columns
from meshmgmt.core.transactions import account_write

DEFAULT_NAME: Final = "Default"
DEFAULT_DESCRIPTION: Final = "Lets every peer reach every other; made with the account"
_OWN: Final = [
    name
    for name in columns(PolicyRule)
    if name != "position" and not name.startswith(("source_", "destination_"))
]
"""The columns of a rule that clients write as they are."""


class Policies(Resource[Policy]):
    """Policies with their `rules`, a list of `RuleDraft`.

    A rule keeps its identity by its id; one without id takes the place of the stored
    rule at its position that no other names. Ids in a new policy count for nothing.
    """

    model = Policy
    kind = "policy"

    def errors(self, write: Write[Policy]) -> Iterator[FieldError]:
        rules = self._identified(write)
        groups = [group_id for rule in rules for group_id in rule.group_ids]
        ends = [end.id for rule in rules for end in rule.resources]
        stored: Sequence[RuleDraft] = write.before.get("rules", ())
        facts = PolicyFacts(
            groups=known_groups(groups),
            posture_checks=write.known("source_posture_checks"),
            rules={rule.id for rule in stored},
            resources=resource_types(ends),
            long={rule.id for rule in stored if is_long(rule)},
        )
        return policy_errors({**write.values, "rules": rules}, facts)

    def stored(self, instance: Policy) -> Row:
        rules = list(instance.rules.order_by("position", "id"))
        return {**super().stored(instance), "rules": stored_rules(rules)}

    def save_lists(self, write: Write[Policy]) -> None:
        super().save_lists(write)
        by_id = {} if write.is_new else write.instance.rules.in_bulk()
        before = {rule.id: rule for rule in write.before.get("rules", ())}
        for position, draft in enumerate(self._identified(write)):
            rule = by_id.pop(draft.id, None)
            _write_rule(
                rule or PolicyRule(policy=write.instance),
                draft,
                position,
                before=None if rule is None else before[draft.id],
            )
        for rule in by_id.values():
            rule.delete()

    def _identified(self, write: Write[Policy]) -> list[RuleDraft]:
        """Return the rules, each without id with that of the rule whose place it takes."""
        rules: Sequence[RuleDraft] = write.values["rules"]
        if write.is_new:
            return [replace(rule, id="") for rule in rules]
        stored: Sequence[RuleDraft] = write.before["rules"]
        named = {rule.id for rule in rules}
        return [
            replace(rule, id=stored[position].id)
            if not rule.id
            and position < len(stored)
            and stored[position].id not in named
            else rule
            for position, rule in enumerate(rules)
        ]


policies: Final = Policies()


def stored_rule(rule: PolicyRule) -> RuleDraft:
    """Return a stored rule in the form in which clients send one."""
    return stored_rules([rule])[0]


def stored_rules(rules: Sequence[PolicyRule]) -> list[RuleDraft]:
    """Return stored rules in that form; what they list is read for all at once."""
    lists = RuleLists([rule.pk for rule in rules])
    return [
        RuleDraft(
            id=rule.pk,
            **_own(rule),
            **_end(rule, "source", lists.sources),
            **_end(rule, "destination", lists.destinations),
            authorized_groups=lists.authorized.get(rule.pk, {}),
        )
        for rule in rules
    ]


def _own(rule: PolicyRule) -> dict[str, Any]:
    own: dict[str, Any] = {name: getattr(rule, name) for name in _OWN}
    return {**own, "port_ranges": [PortRange(**ports) for ports in rule.port_ranges]}


def _end(
    rule: PolicyRule, end: str, groups: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return who is at one end of a rule: a resource, else groups."""
    identifier, kind = rule.resource(end)
    if not identifier:
        return {f"{end}s": groups.get(rule.pk, [])}
    return {f"{end}_resource": ResourceRef(identifier, kind)}


def _write_rule(
    rule: PolicyRule, draft: RuleDraft, position: int, *, before: RuleDraft | None
) -> None:
    """Write a rule that is stored as `before`; None: a new one."""
    rule.position = position
    for name in _OWN:
        setattr(rule, name, getattr(draft, name))
    # A tuple would differ from the stored list, and be told as a change.
    rule.ports = list(draft.ports)
    rule.port_ranges = [
        {"start": ports.start, "end": ports.end} for ports in draft.port_ranges
    ]
    for end in ("source", "destination"):
        resource = getattr(draft, f"{end}_resource") or ResourceRef("", "")
        rule.set_resource(end, resource.id, resource.type)
    rule.save(force_insert=before is None)
    listed = _listed(before)
    for link, members in _listed(draft).items():
        set_members(link, rule, members, before=listed.get(link, ()))


def _listed(rule: RuleDraft | None) -> dict[type[OrderedLink], list[Any]]:
    """Return the members of each list of a rule."""
    if rule is None:
        return {}
    authorized = rule.authorized_groups.items()
    return {
        RuleSource: list(rule.sources or ()),
        RuleDestination: list(rule.destinations or ()),
        RuleAuthorizedGroup: [(pk, "\n".join(users)) for pk, users in authorized],
    }


@cache
def country_codes() -> frozenset[str]:
    return frozenset(country.alpha_2 for country in pycountry.countries)


class PostureChecks(Resource[PostureCheck]):
    """Posture checks; their conditions are replaced as a whole."""

    model = PostureCheck
    kind = "posture check"

    def errors(self, write: Write[PostureCheck]) -> Iterator[FieldError]:
        return posture_errors(
            write.values, countries=country_codes(), name_taken=write.is_taken("name")
        )

    def complete(self, instance: PostureCheck) -> None:
        instance.checks = canonical_checks(instance.checks)

    def delete(self, identifier: str, within: str = "") -> None:
        """Delete a posture check; policies with it are disabled. Raises NotFound."""
        with account_write():
            # First: lists that have the check protect its row.
            take_posture_check_out(self.get(identifier))
            super().delete(identifier)


posture_checks: Final = PostureChecks()


def make_default_policy(**kwargs: Any) -> None:
    """Make the policy (`SVC_DEFAULT_POLICY=all`) while nobody has used the account."""
    if settings.SVC.default_policy != "all" or not tables_exist(
        Policy, PolicyRule, RuleSource, RuleDestination, User, AuditEvent
    ):
        return
    everybody = all_group_id()
    if everybody and not User.objects.exists() and not Policy.objects.exists():
        named: Row = {"name": DEFAULT_NAME, "description": DEFAULT_DESCRIPTION}
        kind: Row = {"action": "accept", "protocol": "all", "bidirectional": True}
        ends: Row = {"sources": [everybody], "destinations": [everybody]}
        policies.create({**named, "rules": [RuleDraft(**named, **kind, **ends)]})


def default_policies() -> QuerySet[Policy]:
    """Return the policy made here, or nothing."""
    return Policy.objects.filter(name=DEFAULT_NAME, description=DEFAULT_DESCRIPTION)
