"""Rules of policies (reference API 13.5): pure, first the error that decides."""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from groups.rules import RESOURCE_TYPES
from meshmgmt.core.errors import FieldError
from meshmgmt.core.textrules import (
    choice_errors,
    description_errors,
    length_errors,
    not_found,
    told_errors,
    unknown_id_errors,
)

ACTIONS: Final = ("accept", "drop")
SSH: Final = "netbird-ssh"
PROTOCOLS: Final = ("all", "tcp", "udp", "icmp", SSH)
PORTLESS: Final = ("all", "icmp")
MAX_PORT: Final = 65535
MOST_PORTS: Final = 1000
"""Of a rule; each is a rule of its own in the firewall of each peer, for each other one."""
TOO_MANY_PORTS: Final = f"a rule has at most {MOST_PORTS} ports or ranges of ports"
MAX_LOCAL_USER: Final = 255

_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
# All that ends a line is among them: local users are stored one on a line.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """A peer, or a resource of a network, that stands in for groups."""

    id: str
    type: str


@dataclass(frozen=True, slots=True)
class PortRange:
    """Ports from `start` to `end`, both included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule as the client sent it; lists hold group ids.

    It is no row: the columns and lists of a rule are made of it, and back.

    Each end is a list of groups, which may be empty, or one resource; None: not given.
    `authorized_groups` maps group ids to the local users they may sign in as.
    """

    name: str
    action: str
    protocol: str
    id: str = ""
    description: str = ""
    enabled: bool = True
    bidirectional: bool = False
    ports: Sequence[str] = ()
    port_ranges: Sequence[PortRange] = ()
    sources: Sequence[str] | None = None
    destinations: Sequence[str] | None = None
    source_resource: ResourceRef | None = None
    destination_resource: ResourceRef | None = None
    authorized_groups: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def group_ids(self) -> list[str]:
        ends = (self.sources or (), self.destinations or ())
        return [*itertools.chain(*ends), *self.authorized_groups]

    @property
    def resources(self) -> list[ResourceRef]:
        ends = (self.source_resource, self.destination_resource)
        return [end for end in ends if end is not None]


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """What exists: ids of groups, posture checks and the policy's own rules.

    `resources` are the ids of known peers and resources, `long` those of its rules that
    have more ports already than one may be given.
    """

    groups: Collection[str] = ()
    posture_checks: Collection[str] = ()
    rules: Collection[str] = ()
    resources: Collection[str] = ()
    long: Collection[str] = ()


def policy_errors(
    policy: Mapping[str, Any], facts: PolicyFacts
) -> Iterator[FieldError]:
    """Yield every broken rule; `rules` of the policy are drafts."""
    rules: Sequence[RuleDraft] = policy["rules"]
    yield from told_errors(policy, what="policy")
    if not rules:
        yield FieldError("rules", "a policy needs at least one rule")
    for index, rule in enumerate(rules):
        yield from rule_errors(f"rules[{index}]", rule, facts)
    yield from _repeated_rules(rules)
    field = "source_posture_checks"
    checks, known = policy[field], facts.posture_checks
    yield from unknown_id_errors(field, checks, known, kind="posture check")


def rule_errors(path: str, rule: RuleDraft, facts: PolicyFacts) -> Iterator[FieldError]:
    """Yield every broken rule of one rule of a policy; `path` says where it stands."""
    yield from length_errors(f"{path}.name", rule.name, what="rule name")
    yield from description_errors(rule.description, f"{path}.description")
    for end in ("source", "destination"):
        yield from _end_errors(path, end, rule, facts)
    yield from choice_errors(f"{path}.action", rule.action, ACTIONS)
    yield from choice_errors(f"{path}.protocol", rule.protocol, PROTOCOLS)
    yield from _port_errors(path, rule, facts)
    yield from _authorized_errors(path, rule, facts)
    if rule.id and rule.id not in facts.rules:
        yield FieldError(f"{path}.id", not_found("rule of this policy", rule.id))


def _repeated_rules(rules: Sequence[RuleDraft]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        if rule.id and rule.id in seen:
            yield FieldError(f"rules[{index}].id", "this rule is given twice")
        seen.add(rule.id)


def _end_errors(
    path: str, end: str, rule: RuleDraft, facts: PolicyFacts
) -> Iterator[FieldError]:
    """Check one end of a rule: either groups or one resource."""
    groups: Sequence[str] | None = getattr(rule, f"{end}s")
    resource: ResourceRef | None = getattr(rule, f"{end}_resource")
    place, either = f"{path}.{end}s", f"give either {end}s or {end}Resource"
    # An empty list is right beside a resource, and alone, where it is nobody.
    if groups and resource is not None:
        yield FieldError(place, f"{either}, not both")
    elif groups is None and resource is None:
        yield FieldError(place, either)
    yield from unknown_id_errors(place, groups or (), facts.groups, kind="group")
    if resource is not None:
        yield from _resource_errors(f"{path}.{end}Resource", resource, facts)


def _resource_errors(
    path: str, resource: ResourceRef, facts: PolicyFacts
) -> Iterator[FieldError]:
    yield from choice_errors(f"{path}.type", resource.type, RESOURCE_TYPES)
    # What it is follows from the id, whatever clients call it.
    if resource.id not in facts.resources:
        yield FieldError(f"{path}.id", not_found("resource", resource.id))


def is_long(rule: RuleDraft) -> bool:
    """Tell whether a rule has more ports, or ranges, than it may be given."""
    return max(len(rule.ports), len(rule.port_ranges)) > MOST_PORTS


def _port_errors(
    path: str, rule: RuleDraft, facts: PolicyFacts
) -> Iterator[FieldError]:
    if rule.ports and rule.port_ranges:
        yield FieldError(f"{path}.ports", "give either ports or port_ranges, not both")
    given = f"{path}.{'ports' if rule.ports else 'port_ranges'}"
    if is_long(rule) and rule.id not in facts.long:
        yield FieldError(given, TOO_MANY_PORTS)
        return
    for index, port in enumerate(rule.ports):
        if not _PORT.fullmatch(port) or int(port) > MAX_PORT:
            text = f"a port is a number from 1 to {MAX_PORT}"
            yield FieldError(f"{path}.ports[{index}]", text)
    for index, ports in enumerate(rule.port_ranges):
        if not 1 <= ports.start <= ports.end <= MAX_PORT:
            text = f"a port range has 1 <= start <= end <= {MAX_PORT}"
            yield FieldError(f"{path}.port_ranges[{index}]", text)
    if rule.protocol in PORTLESS and (rule.ports or rule.port_ranges):
        yield FieldError(given, f"protocol {rule.protocol} has no ports")


def _authorized_errors(
    path: str, rule: RuleDraft, facts: PolicyFacts
) -> Iterator[FieldError]:
    if not rule.authorized_groups:
        return
    place = f"{path}.authorized_groups"
    if rule.protocol != SSH:
        yield FieldError(place, f"only rules with protocol {SSH} authorize groups")
        return
    # As in the reference: who names some names all of the sources.
    for group_id in rule.sources or ():
        if group_id not in rule.authorized_groups:
            yield FieldError(place, f"source group {group_id[:64]!r} is missing")
    for group_id, users in rule.authorized_groups.items():
        entry = f"{place}.{group_id[:64]}"
        if group_id not in facts.groups:
            yield FieldError(entry, not_found("group", group_id))
        for index, user in enumerate(users):
            if not user or len(user) > MAX_LOCAL_USER or _CONTROL.search(user):
                text = f"a local user has 1 to {MAX_LOCAL_USER} printable characters"
                yield FieldError(f"{entry}[{index}]", text)
