"""Writes of routes, and of networks, their resources and routers."""

from collections.abc import Iterator
from typing import Any, Final

from groups.selectors import groups_of_resources, known_groups
from groups.services import set_groups_of_resource
from meshmgmt.access.models import Route, RoutePeerGroup, Router
from meshmgmt.access.rules import networks as rules
from meshmgmt.access.services.removal import retype_rules
from meshmgmt.core.errors import FieldError
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.resources import Resource, Row, Values, Write
from meshmgmt.core.textrules import told_errors
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Network, NetworkResource

_LISTS: Final = ("groups", "peer_groups", "access_control_groups")
_PAIRS: Final = (("network", "domains"), ("peer", "peer_groups"))


class Routes(Resource[Route]):
    """Routes; of what excludes each other the part that is given displaces the other."""

    model = Route
    kind = "route"
    # Clients of the reference leave out what is false.
    defaults = {"masquerade": False}

    def errors(self, write: Write[Route]) -> list[FieldError]:
        facts = routing_facts(write, *_LISTS)
        return [*rules.route_errors(write.values, facts)] or _repetitions(write)

    def complete(self, instance: Route) -> None:
        instance.network = (
            rules.network_text(instance.network) if instance.network else ""
        )

    def update(self, identifier: str, data: Values, within: str = "") -> Route:
        return super().update(identifier, displaced(data), within)


routes: Final = Routes()


def displaced(changes: Values) -> Row:
    """Empty the other part of a pair of which one part alone is given."""
    empty = {"network": "", "domains": [], "peer": "", "peer_groups": []}
    return {
        **{
            other: empty[other]
            for one, other in (*_PAIRS, *(pair[::-1] for pair in _PAIRS))
            if changes.get(one)
        },
        **changes,
    }


def routing_facts(write: Write[Any], *lists: str) -> rules.RoutingFacts:
    """Return what exists of what a route or router names; `lists` are of groups."""
    before = write.before
    emptied = []
    if before and not before["peer"] and not before["peer_groups"]:
        emptied.append("peer")
    # Routers have no such list.
    if before and not before.get("groups", True):
        emptied.append("groups")
    known = {pk for name in lists for pk in write.known(name)}
    return rules.RoutingFacts(groups=known, peers=write.known("peer"), emptied=emptied)


def _repetitions(write: Write[Route]) -> list[FieldError]:
    """Return the clash with another route that is the same in all that matters."""
    route = write.values
    if not route["peer"] and not route["peer_groups"]:
        return []  # emptied by deletions: leads nowhere
    network = rules.network_text(route["network"]) if route["network"] else ""
    rows = Route.objects.filter(
        network_id=route["network_id"], network=network, peer_id=route["peer"] or None
    ).exclude(pk=write.instance.pk)
    place = rules.destination_key(network, route["domains"])
    groups = ids_by_owner(RoutePeerGroup, [row.pk for row in rows])
    # No column tells that two lists are equal, so they are compared here.
    same = [
        row
        for row in rows
        if rules.destination_key(network, row.domains) == place
        and set(groups.get(row.pk, ())) == set(route["peer_groups"])
    ]
    if not same:
        return []
    field = "peer" if route["peer"] else "peer_groups"
    name = route["network_id"]
    text = f"a route {name!r} leads there through the same {field} already"
    return [FieldError(field, text, conflict=True)]


class Networks(Resource[Network]):
    """Networks; what is in one goes with it."""

    model = Network
    kind = "network"

    def errors(self, write: Write[Network]) -> Iterator[FieldError]:
        return told_errors(write.values, what="network")


networks: Final = Networks()


class NetworkResources(Resource[NetworkResource]):
    """Resources of networks, whose lists of groups the groups keep."""

    model = NetworkResource
    kind = "network resource"
    whole = networks

    def errors(self, write: Write[NetworkResource]) -> Iterator[FieldError]:
        return rules.resource_errors(
            write.values,
            known_groups=known_groups(write.values["groups"]),
            name_taken=write.is_taken("name"),
        )

    def complete(self, instance: NetworkResource) -> None:
        # The address itself is answered as it was sent, and masked for peers.
        instance.type = rules.parse_address(instance.address).type

    def move(self, identifier: str, network_id: str) -> None:
        """Put a resource into another network; what names it goes on doing so."""
        with account_write():
            instance = self.get(identifier)
            instance.network = networks.get(network_id)
            instance.save(update_fields=["network"])

    def blank(self, instance: NetworkResource) -> Row:
        return {**super().blank(instance), "groups": []}

    def stored(self, instance: NetworkResource) -> Row:
        groups = groups_of_resources([instance.pk]).get(instance.pk, [])
        return {**super().stored(instance), "groups": groups}

    def save_lists(self, write: Write[NetworkResource]) -> None:
        """Say in rules and groups of which type it is now."""
        pk, kind = write.instance.pk, write.instance.type
        before = write.before.get("type", "")
        if before not in ("", kind):
            retype_rules(pk, before, kind)
        set_groups_of_resource(pk, kind, write.values["groups"], kind_before=before)


network_resources: Final = NetworkResources()


class Routers(Resource[Router]):
    """Routers of networks; of `peer` and `peer_groups` one displaces the other."""

    model = Router
    kind = "network router"
    whole = networks
    # Clients of the reference leave out what is false.
    defaults = {"masquerade": False}

    def errors(self, write: Write[Router]) -> Iterator[FieldError]:
        return rules.router_errors(write.values, routing_facts(write, "peer_groups"))

    def update(self, identifier: str, data: Values, within: str = "") -> Router:
        return super().update(identifier, displaced(data), within)


routers: Final = Routers()
