"""What the API shows of routes, networks, resources and routers."""

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from groups.selectors import group_members, groups_of_resources, short_groups
from meshmgmt.access.models import (
    PolicyRule,
    Route,
    Router,
    RouterPeerGroup,
    RuleDestination,
)
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.queries import batches, narrowed
from meshmgmt.core.resources import Row, stored_rows
from meshmgmt.inventory.models import Network, NetworkResource

_OPTIONAL: Final = ("peer_groups", "access_control_groups")


def route_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return routes, in the order of creation.

    Clients tell absent from empty: without them there are no `peer_groups` and no
    `access_control_groups`, and `domains` of a route to a network is None.
    """
    found = stored_rows(Route, ids)
    for row in found:
        row["network_type"] = network_type(row["network"])
        row["domains"] = None if row["network"] else row["domains"]
        for name in _OPTIONAL:
            if not row[name]:
                del row[name]
    return found


def network_type(network: str) -> str:
    """Return how the API names what a route leads to."""
    if not network:
        return "Domain"
    return f"IPv{ipaddress.ip_network(network).version}"


def router_rows(network_id: str = "", ids: Sequence[str] | None = None) -> list[Row]:
    """Return the routers of a network ("": of all), in the order of creation.

    `peer_groups` of a router by peer is None.
    """
    found = stored_rows(Router, ids, within=network_id)
    for row in found:
        row["peer_groups"] = None if row["peer"] else row["peer_groups"]
    return found


def network_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return networks with the ids of what belongs to them, in creation order."""
    found = stored_rows(Network, ids)
    if not found:
        return []
    resources = _ids_by_network(NetworkResource.objects.all(), ids)
    routers = _ids_by_network(Router.objects.all(), ids)
    policies = _policies_by_network(resources)
    counts = _routing_peers(routers, ids)
    for row in found:
        pk = row["id"]
        row["routers"] = routers.get(pk, [])
        row["resources"] = resources.get(pk, [])
        row["policies"] = policies.get(pk, [])
        row["routing_peers_count"] = counts.get(pk, 0)
    return found


def _ids_by_network(rows: Any, ids: Sequence[str] | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    chosen = narrowed(rows, ids, "network").order_by("id")
    for network_id, pk in chosen.values_list("network_id", "id"):
        found.setdefault(network_id, []).append(pk)
    return found


def _policies_by_network(resources: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the policies that let in to a resource of each network."""
    network_of = {pk: network for network, listed in resources.items() for pk in listed}
    networks_of_group: defaultdict[str, set[str]] = defaultdict(set)
    for resource_id, groups in groups_of_resources(list(network_of)).items():
        for group_id in groups:
            networks_of_group[group_id].add(network_of[resource_id])
    found: defaultdict[str, set[str]] = defaultdict(set)
    links = RuleDestination.objects.order_by()
    for part in batches(list(networks_of_group)):
        chosen = links.filter(group__in=part)
        for policy_id, group_id in chosen.values_list("rule__policy_id", "group_id"):
            for network_id in networks_of_group[group_id]:
                found[network_id].add(policy_id)
    rules = PolicyRule.objects.order_by()
    for part in batches(list(network_of)):
        rows = rules.filter(destination_resource_id__in=part)
        for policy_id, pk in rows.values_list("policy_id", "destination_resource_id"):
            found[network_of[pk]].add(policy_id)
    # Ids grow with time: in their order the policies are in that of creation.
    return {network_id: sorted(policies) for network_id, policies in found.items()}


def _routing_peers(
    routers: Mapping[str, list[str]], ids: Sequence[str] | None
) -> dict[str, int]:
    """Return how many peers the routers of each network name, as the reference counts.

    Routers that are disabled count, and a peer counts as often as it is named.
    """
    chosen = [pk for listed in routers.values() for pk in listed]
    groups = ids_by_owner(RouterPeerGroup, chosen)
    members = group_members({pk for listed in groups.values() for pk in listed})
    by_peer = _ids_by_network(Router.objects.filter(peer__isnull=False), ids)
    counts = Counter({network: len(listed) for network, listed in by_peer.items()})
    for network_id, listed in routers.items():
        for router_id in listed:
            for group_id in groups.get(router_id, ()):
                counts[network_id] += len(members[group_id])
    return counts


def resource_rows(network_id: str = "", ids: Sequence[str] | None = None) -> list[Row]:
    """Return the resources of a network ("": of all), in creation order."""
    found = stored_rows(NetworkResource, ids, within=network_id)
    if not found:
        return []
    groups = groups_of_resources([row["id"] for row in found])
    shown = short_groups(sorted({pk for listed in groups.values() for pk in listed}))
    for row in found:
        row["groups"] = [shown[pk] for pk in groups.get(row["id"], ())]
    return found
