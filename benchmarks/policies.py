"""A mesh with many policies."""

from typing import Final

from events.audit.audited import audited_bulk_create
from groups.models import Group
from meshmgmt.access.models import Policy, PolicyRule, RuleDestination, RuleSource
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write

POLICIES: Final = 1000


def fill_policies() -> None:
    """Fill the large mesh up to a thousand policies: most peers then see each other."""
    missing = POLICIES - Policy.objects.count()
    groups = list(Group.objects.order_by("id").values_list("pk", flat=True))
    with account_write():
        policies = [Policy(name=f"filler {number}") for number in range(missing)]
        audited_bulk_create(policies)
        rules = [PolicyRule(policy=policy, name=policy.name) for policy in policies]
        audited_bulk_create(rules)
        for number, rule in enumerate(rules):
            start = number % (len(groups) - 4)
            set_members(RuleSource, rule, groups[start : start + 2], new=True)
            set_members(RuleDestination, rule, groups[start + 2 : start + 4], new=True)
