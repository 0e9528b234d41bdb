"""Writes of networks, their resources and routers."""

from typing import Final

from groups.selectors import groups_of_resources, known_groups
from groups.services import set_groups_of_resource
from meshmgmt.access.models import Router
from meshmgmt.access.rules.networks import (
    network_errors,
    parse_address,
    resource_errors,
)
from meshmgmt.access.rules.routes import router_errors
from meshmgmt.access.services.removal import retype_rules
from meshmgmt.access.services.routes import displaced, routing_facts
from meshmgmt.core.errors import FieldError
from meshmgmt.core.resources import Resource, Row, Values, Write
from meshmgmt.inventory.models import Network, NetworkResource


class Networks(Resource[Network]):
    """Networks; what is in one goes with it."""

    model = Network
    kind = "network"

    def errors(self, write: Write[Network]) -> list[FieldError]:
        return network_errors(write.values)


networks: Final = Networks()


class NetworkResources(Resource[NetworkResource]):
    """Resources of networks, whose lists of groups the groups keep."""

    model = NetworkResource
    kind = "network resource"
    whole = networks

    def errors(self, write: Write[NetworkResource]) -> list[FieldError]:
        return resource_errors(
            write.values,
            known_groups=known_groups(write.values["groups"]),
            name_taken=write.is_taken("name"),
        )

    def complete(self, instance: NetworkResource) -> None:
        # The address itself is answered as it was sent, and masked for peers.
        instance.type = parse_address(instance.address).type

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

    def errors(self, write: Write[Router]) -> list[FieldError]:
        return router_errors(write.values, routing_facts(write, "peer_groups"))

    def update(self, identifier: str, data: Values, within: str = "") -> Router:
        return super().update(identifier, displaced(data), within)


routers: Final = Routers()
