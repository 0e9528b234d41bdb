"""The list of policies: who may do what, and how often that happened lately."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from django.contrib import admin
from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.models import TrafficEvent
from events.streams.subjects import TRAFFIC_SUBJECT
from events.streams.summaries import events_by
from groups.admin.changing import group_link
from groups.audit import resource_names
from groups.models import Group
from groups.rules import ResourceKey
from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    RuleDestination,
    RuleSource,
)
from meshmgmt.adminsite import home
from meshmgmt.adminsite.lists import ServiceList, is_in_file
from meshmgmt.adminsite.look import badge, shown, some
from meshmgmt.core import clock

WEEK: Final = dt.timedelta(days=7)
_ENDS: Final = ("source", "destination")

Names = Mapping[ResourceKey, str]


class PolicyList(ServiceList):
    """A page of policies with their rules, read for all of them at once."""

    def complete(self, request: HttpRequest, shown: list[Any]) -> None:
        """Read rules and checks of all policies of the page, and how often they hit."""
        checks = PolicyPostureCheck.objects.select_related("posture_check")
        prefetch_related_objects(
            shown, Prefetch("rules", ruled()), Prefetch("posture_check_links", checks)
        )
        names = names_of(x for row in shown for x in row.rules.all())
        hits = _hits(request, [policy.pk for policy in shown])
        for policy in shown:
            policy.resource_names = names
            policy.hits = None if hits is None else hits.get(policy.pk, 0)


def ruled(rules: QuerySet[PolicyRule] | None = None) -> QuerySet[PolicyRule]:
    """Return rules in their order, with the groups of both sides."""
    found: Any = PolicyRule.objects.all() if rules is None else rules
    ordered: QuerySet[PolicyRule] = found.order_by("position", "id").prefetch_related(
        Prefetch("source_links", RuleSource.objects.select_related("group")),
        Prefetch("destination_links", RuleDestination.objects.select_related("group")),
    )
    return ordered


def names_of(rules: Iterable[PolicyRule]) -> Names:
    """Return the names of the peers or resources that stand in place of groups."""
    keys = {rule.resource(end) for rule in rules for end in _ENDS} - {("", "")}
    return resource_names(list(keys)) if keys else {}


def _hits(request: HttpRequest, policy_ids: list[str]) -> dict[str, int] | None:
    """Return the flows of the last week by policy; None for who may not see them."""
    if not admin.site.get_model_admin(TrafficEvent).has_view_permission(request):
        return None
    return events_by(TRAFFIC_SUBJECT, "policy", policy_ids, clock.now() - WEEK)


def ports_text(rule: PolicyRule) -> str:
    """Return the ports of a rule as its form takes them."""
    ranges = (f"{ports['start']}-{ports['end']}" for ports in rule.port_ranges)
    return ", ".join([*rule.ports, *ranges])


def _traffic_text(rule: PolicyRule) -> str:
    """Return which traffic a rule is about: `TCP 80, 443`."""
    protocol = "any traffic" if rule.protocol == "all" else rule.protocol.upper()
    return f"{protocol} {ports_text(rule)}".strip()


def _side(
    rule: Any, end: str, names: Names, name: Callable[[Group], Any], *, whole: bool
) -> SafeString:
    if (key := rule.resource(end))[0]:
        return shown(names.get(key, key[0]))
    groups = (name(link.group) for link in getattr(rule, f"{end}_links").all())
    return some(groups, whole=whole, none="nobody")


def rule_line(
    rule: PolicyRule, names: Names, *, linked: bool = True, whole: bool = False
) -> SafeString:
    """Return what a rule says, `linked`: with links to its groups, `whole`: to all.

    `names` are those of what stands in place of groups.
    """
    arrow = "\N{LEFT RIGHT ARROW}" if rule.bidirectional else "\N{RIGHTWARDS ARROW}"
    words = [_traffic_text(rule)]
    words += ["dropped"] * (rule.action == "drop") + ["off"] * (not rule.enabled)
    name: Callable[[Group], Any]
    name = group_link if linked else lambda group: shown(group.name)
    return format_html(
        '<span class="rule">{} {} {} <span class="below">{}</span></span>',
        _side(rule, "source", names, name, whole=whole),
        arrow,
        _side(rule, "destination", names, name, whole=whole),
        ", ".join(words),
    )


class PolicyColumns:
    """Columns of `PolicyList`."""

    @admin.display(description="rules")
    def rule_list(self, policy: Policy) -> SafeString:
        """All rules of one policy."""
        rules = list(ruled(policy.rules.all()))
        names = names_of(rules)
        lines = ((shown(rule.name), rule_line(rule, names)) for rule in rules)
        return format_html("<ol>{}</ol>", format_html_join("", "<li>{} {}</li>", lines))

    @admin.display(description="sources → destinations, traffic")
    def rules_shown(self, policy: Any) -> SafeString:
        """Who may begin what with whom, a line for each rule."""
        whole = is_in_file(policy)
        line = partial(rule_line, names=policy.resource_names, whole=whole)
        between = "; " if whole else ""
        return some(map(line, policy.rules.all()), whole=whole, separator=between)

    @admin.display(description="posture")
    def posture(self, policy: Any) -> SafeString:
        """The checks that sources must pass."""
        page = "admin:access_posturecheck_change"
        links = policy.posture_check_links.all()
        return format_html_join(
            ", ",
            '<a href="{}">{}</a>',
            (
                (reverse(page, args=[x.posture_check_id]), shown(x.posture_check.name))
                for x in links
            ),
        ) or format_html("{}", "-")

    @admin.display(description="flows, 7 days")
    def flows(self, policy: Any) -> SafeString:
        """How often the policy let traffic through or dropped it, leading to that."""
        if policy.hits is None:
            return format_html("{}", "-")
        url = home.list_url(TrafficEvent, {"start_date": "-7d", "policy_id": policy.pk})
        return format_html('<a href="{}">{}</a>', url, f"{policy.hits:,}")

    @admin.display(description="state", ordering="enabled")
    def switch(self, policy: Policy) -> SafeString:
        """Whether it is in force, to be changed in place."""
        # The list is a form, and none can stand in it: a button may lead elsewhere.
        state = badge("enabled" if policy.enabled else "disabled")
        return format_html(
            '<button type="submit" class="switch" formaction="{}" name="enabled"'
            ' value="{}" role="switch" aria-checked="{}" aria-label="{}">{}</button>',
            reverse("admin:access_policy_switch", args=[policy.pk]),
            "" if policy.enabled else "1",
            "true" if policy.enabled else "false",
            f"{policy.name} enabled",
            state,
        )
