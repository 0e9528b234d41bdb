"""What the API shows of policies."""

from collections.abc import Mapping, Sequence

from groups.selectors import short_groups
from meshmgmt.access.models import (
    Policy,
    PolicyRule,
    RuleAuthorizedGroup,
    RuleDestination,
    RuleSource,
)
from meshmgmt.core.orderedlinks import ids_by_owner, link_rows
from meshmgmt.core.queries import narrowed
from meshmgmt.core.resources import Row, columns, stored_rows
from meshmgmt.inventory.contributions import ShortGroup


def policy_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return policies with their rules, in the order of creation."""
    found = stored_rows(Policy, ids)
    rules = _rules_by_policy(ids) if found else {}
    for row in found:
        row["rules"] = rules.get(row["id"], [])
    return found


def _rules_by_policy(policy_ids: Sequence[str] | None) -> dict[str, list[Row]]:
    every = PolicyRule.objects.order_by("position", "id")
    rules = narrowed(every, policy_ids, "policy")
    # No set: versions (ETag) of a policy are made of its text, key by key.
    names = [name for name in columns(PolicyRule) if name != "position"]
    rows: list[Row] = list(rules.values("policy_id", "id", *names))
    if policy_ids is None:
        # All rules name most groups, and a list of ids has its bounds.
        lists, groups = RuleLists(None), short_groups()
    else:
        lists = RuleLists([row["id"] for row in rows])
        groups = short_groups(lists.named())
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.pop("policy_id"), []).append(_shown(row, lists, groups))
    return found


class RuleLists:
    """What rules (ids; None: all) list: groups, and local users of who may sign in."""

    def __init__(self, rule_ids: Sequence[str] | None) -> None:
        self.sources = ids_by_owner(RuleSource, rule_ids)
        self.destinations = ids_by_owner(RuleDestination, rule_ids)
        self.authorized: dict[str, dict[str, list[str]]] = {}
        rows = link_rows(RuleAuthorizedGroup, rule_ids, "group_id", "local_users")
        for rule_id, group_id, users in rows:
            self.authorized.setdefault(rule_id, {})[group_id] = users.splitlines()

    def named(self) -> list[str]:
        """Return the groups at the ends of the rules."""
        lists = [*self.sources.values(), *self.destinations.values()]
        return sorted({group for groups in lists for group in groups})


def _shown(row: Row, lists: RuleLists, groups: Mapping[str, ShortGroup]) -> Row:
    """Complete a rule: objects for group ids, no empty optional parts.

    Beside a resource the list of groups is None.
    """
    rule_id = row["id"]
    for end, listed in (("source", lists.sources), ("destination", lists.destinations)):
        identifier = row.pop(f"{end}_resource_id")
        kind = row.pop(f"{end}_resource_type")
        if identifier:
            row[f"{end}Resource"] = {"id": identifier, "type": kind}
            row[f"{end}s"] = None
        else:
            row[f"{end}s"] = [groups[pk] for pk in listed.get(rule_id, ())]
    if rule_id in lists.authorized:
        row["authorized_groups"] = lists.authorized[rule_id]
    for part in ("ports", "port_ranges"):
        if not row[part]:
            del row[part]
    return row
