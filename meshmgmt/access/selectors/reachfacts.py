"""Reads what decides who sees whom; the decision itself is in `meshmgmt.access.reach`."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from django.db import models
from django.db.models import IntegerField, Q, Value

from groups.models import GroupResource
from meshmgmt.access import reach
from meshmgmt.access.models import (
    Action,
    PolicyRule,
    Route,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
    RuleDestination,
    RuleSource,
)
from meshmgmt.core.orderedlinks import OrderedLink
from meshmgmt.core.queries import BATCH, PreparedRows, Rows
from meshmgmt.inventory.models import NetworkResource

_Links = tuple[tuple[type[OrderedLink], str], ...]
_Lists = Mapping[str, list[str]]

_RULE_LISTS: Final[_Links] = ((RuleSource, "rule_id"), (RuleDestination, "rule_id"))
_LISTS: Final[_Links] = (
    (RouteGroup, "route_id"),
    (RoutePeerGroup, "route_id"),
    (RouterPeerGroup, "router_id"),
    (GroupResource, "resource_id"),
)


def _list_rows(links: _Links, **which: Sequence[str]) -> "models.QuerySet[Any, Any]":
    """Number of the link, owner (of a `GroupResource` the resource), group."""
    first, *others = (
        link._default_manager.filter(**which)
        .order_by()
        .values_list(Value(number, IntegerField()), column, "group_id")
        for number, (link, column) in enumerate(links)
    )
    return first.union(*others, all=True)


def _enabled(model: type[models.Model], *columns: str) -> PreparedRows:
    return PreparedRows(
        lambda: (
            model._default_manager.filter(enabled=True)
            .order_by("pk")
            .values_list(*columns)
        )
    )


def _rules() -> "models.QuerySet[Any, Any]":
    return (
        PolicyRule.objects.filter(
            enabled=True, policy__enabled=True, action=Action.ACCEPT
        )
        .order_by("policy_id", "position", "id")
        .values_list(
            "policy_id",
            "policy__name",
            "pk",
            "source_resource_type",
            "source_resource_id",
            "destination_resource_type",
            "destination_resource_id",
        )
    )


def _rules_of(peer: Sequence[str], groups: Sequence[str]) -> Any:
    """Rules with the peer, or one of the groups, on a side."""
    sources = RuleSource.objects.filter(group__in=groups).order_by()
    destinations = RuleDestination.objects.filter(group__in=groups).order_by()
    return _rules().filter(
        Q(pk__in=sources.values("rule"))
        | Q(pk__in=destinations.values("rule"))
        | Q(source_resource_id__in=peer)
        | Q(destination_resource_id__in=peer)
    )


_LIST_ROWS: Final = PreparedRows(lambda: _list_rows(_LISTS))
_ROUTES: Final = _enabled(Route, "pk", "network_id", "peer_id")
_ROUTERS: Final = _enabled(Router, "pk", "network_id", "peer_id")
_RESOURCES: Final = _enabled(NetworkResource, "pk", "network_id")
_RULES: Final = PreparedRows(_rules)
_RULE_LISTS_ALL: Final = PreparedRows(lambda: _list_rows(_RULE_LISTS))
_RULE_LISTS_OF: Final = PreparedRows(
    lambda rules: _list_rows(_RULE_LISTS, rule__in=rules)
)
_RULES_OF: Final = PreparedRows(_rules_of)


def reach_facts(
    peer_id: str | None = None, groups: Collection[str] = ()
) -> reach.ReachFacts:
    """Return all that decides who sees whom; what is switched off is left out.

    For one peer and the groups it is in, rules that concern others may be left out too:
    what a rule shows is seen by its two sides, and by those who route a network that it
    leads to. Rows are read plainly: an account has thousands of them.
    """
    listed = _lists(_LISTS, _LIST_ROWS.read())
    routers = tuple(
        reach.Router(pk, network, peer, frozenset(listed[RouterPeerGroup][pk]))
        for pk, network, peer in _ROUTERS.read()
    )
    routes_networks = any(
        router.peer == peer_id or not router.peer_groups.isdisjoint(groups)
        for router in routers
    )
    alone = () if peer_id is None or routes_networks else (peer_id,)
    return reach.ReachFacts(
        policies=_policies(alone, [*groups]),
        routes=tuple(
            reach.Route(
                id=pk,
                name=name,
                groups=frozenset(listed[RouteGroup][pk]),
                peer=peer,
                peer_groups=frozenset(listed[RoutePeerGroup][pk]),
            )
            for pk, name, peer in _ROUTES.read()
        ),
        routers=routers,
        resources=tuple(
            reach.Resource(pk, network, frozenset(listed[GroupResource][pk]))
            for pk, network in _RESOURCES.read()
        ),
    )


def _policies(peer: Sequence[str], groups: Sequence[str]) -> tuple[reach.Policy, ...]:
    """Policies with the rules of one peer and its groups; of everybody for no peer."""
    rows = _RULES_OF.read(peer, groups) if peer else _RULES.read()
    named = [row[2] for row in rows]
    lists = (
        _RULE_LISTS_OF.read(named) if len(named) <= BATCH else _RULE_LISTS_ALL.read()
    )
    listed = _lists(_RULE_LISTS, lists)
    sources, destinations = listed[RuleSource], listed[RuleDestination]
    found: dict[tuple[str, str], list[reach.Rule]] = {}
    for policy_id, name, pk, kind, source, other_kind, destination in rows:
        rule = reach.Rule(
            _side(sources[pk], kind, source),
            _side(destinations[pk], other_kind, destination),
        )
        found.setdefault((policy_id, name), []).append(rule)
    return tuple(reach.Policy(*key, tuple(rules)) for key, rules in found.items())


def _side(groups: list[str], kind: str, identifier: str) -> reach.RuleSide:
    """Return one end of a rule: a resource takes the place of groups."""
    if not identifier:
        return reach.RuleSide(groups=frozenset(groups))
    if kind == "peer":
        return reach.RuleSide(peer=identifier)
    return reach.RuleSide(resource=identifier)


def _lists(links: _Links, rows: Rows) -> dict[type[OrderedLink], _Lists]:
    """Ids of groups by owner, for each link."""
    lists: list[dict[str, list[str]]] = [defaultdict(list) for _ in links]
    for number, owner_id, group_id in rows:
        lists[number][owner_id].append(group_id)
    return {link: found for (link, _), found in zip(links, lists, strict=True)}
