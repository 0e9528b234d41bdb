"""Which peers one peer can reach; the decision itself is in `meshmgmt.access.reach`."""

from typing import Final

from groups.membership import group_members, groups_of_peer, groups_of_resources
from meshmgmt.access import models, reach
from meshmgmt.access.selectors.links import ids_by_owner
from meshmgmt.accounts.models import User
from meshmgmt.core.errors import NotFound
from meshmgmt.inventory.models import NetworkResource
from meshmgmt.inventory.selectors import FEW, PeerRow, peer_rows, visible_peers

_SHOWN: Final = (
    "id",
    "name",
    "ip",
    "ipv6",
    "dns_label",
    "user_id",
    "os",
    "country_code",
    "city_name",
    "geoname_id",
    "connected",
    "last_seen",
)


def accessible_peer_rows(viewer: User, peer_id: str) -> list[PeerRow]:
    """Return the peers that a peer can reach, of those that `viewer` may see.

    Raises NotFound for a peer that `viewer` may not see.
    """
    if not visible_peers(viewer).filter(pk=peer_id).exists():
        raise NotFound.of("peer", peer_id)
    reachable = reachable_peers(peer_id)
    few = len(reachable) <= FEW
    rows = peer_rows(viewer, sorted(reachable) if few else None)
    return [
        {name: row[name] for name in _SHOWN if name in row}
        for row in rows
        if row["id"] in reachable
    ]


def reachable_peers(peer_id: str) -> frozenset[str]:
    """Return the ids of the peers that a peer can reach, itself not among them."""
    graph = reach.ReachGraph(reach_facts())
    groups = groups_of_peer(peer_id)
    named = {
        group_id
        for target in graph.targets(peer_id, groups)
        for group_id in target.groups
    }
    seen = reach.causes(graph, group_members(named))
    return frozenset(seen.visible_from(peer_id, groups))


def reach_facts() -> reach.ReachFacts:
    """Return all that decides who sees whom; what is switched off is left out."""
    return reach.ReachFacts(
        policies=_policies(),
        routes=_routes(),
        routers=_routers(),
        resources=_resources(),
    )


def _policies() -> tuple[reach.Policy, ...]:
    rules = models.PolicyRule.objects.filter(
        enabled=True, policy__enabled=True, action=models.Action.ACCEPT
    ).select_related("policy")
    sources = ids_by_owner(models.RuleSource)
    destinations = ids_by_owner(models.RuleDestination)
    return tuple(
        reach.Policy(
            rule.policy_id,
            rule.policy.name,
            (
                reach.Rule(
                    _side(
                        sources.get(rule.pk, []),
                        rule.source_resource_type,
                        rule.source_resource_id,
                    ),
                    _side(
                        destinations.get(rule.pk, []),
                        rule.destination_resource_type,
                        rule.destination_resource_id,
                    ),
                ),
            ),
        )
        for rule in rules.order_by("policy_id", "position", "id")
    )


def _side(groups: list[str], kind: str, identifier: str) -> reach.RuleSide:
    """Return one end of a rule: a resource takes the place of groups."""
    if not identifier:
        return reach.RuleSide(groups=frozenset(groups))
    if kind == "peer":
        return reach.RuleSide(peer=identifier)
    return reach.RuleSide(resource=identifier)


def _routes() -> tuple[reach.Route, ...]:
    groups = ids_by_owner(models.RouteGroup)
    peer_groups = ids_by_owner(models.RoutePeerGroup)
    return tuple(
        reach.Route(
            id=route.pk,
            name=route.network_id,
            groups=frozenset(groups.get(route.pk, ())),
            peer=route.peer_id,
            peer_groups=frozenset(peer_groups.get(route.pk, ())),
        )
        for route in models.Route.objects.filter(enabled=True).order_by("id")
    )


def _routers() -> tuple[reach.Router, ...]:
    peer_groups = ids_by_owner(models.RouterPeerGroup)
    return tuple(
        reach.Router(
            id=router.pk,
            network=router.network_id,
            peer=router.peer_id,
            peer_groups=frozenset(peer_groups.get(router.pk, ())),
        )
        for router in models.Router.objects.filter(enabled=True).order_by("id")
    )


def _resources() -> tuple[reach.Resource, ...]:
    rows = NetworkResource.objects.filter(enabled=True).order_by("id")
    resources = list(rows.values_list("pk", "network_id"))
    groups = groups_of_resources([pk for pk, _ in resources])
    return tuple(
        reach.Resource(id=pk, network=network_id, groups=frozenset(groups.get(pk, ())))
        for pk, network_id in resources
    )
