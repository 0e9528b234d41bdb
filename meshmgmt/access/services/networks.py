"""Writes of networks, their resources and routers. Each runs in one account write."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groups.selectors import groups_of_resources, known_groups
from groups.services import set_groups_of_resource
from meshmgmt.access.models import Router, RouterPeerGroup
from meshmgmt.access.rules.networks import (
    NETWORK_COLUMNS,
    RESOURCE_COLUMNS,
    NetworkDraft,
    ResourceDraft,
    network_errors,
    parse_address,
    resource_errors,
)
from meshmgmt.access.rules.routes import (
    ROUTER_COLUMNS,
    RouterDraft,
    RoutingFacts,
    router_errors,
)
from meshmgmt.access.services.removal import retype_rules
from meshmgmt.access.services.routes import displaced
from meshmgmt.core import drafts
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.queries import found, known_ids
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Network, NetworkResource, Peer

KIND: Final = "network"
RESOURCE_KIND: Final = "network resource"
ROUTER_KIND: Final = "network router"


def network_get(network_id: str) -> Network:
    """Return the network. Raises NotFound."""
    return found(Network, network_id, kind=KIND)


def network_create(*, draft: NetworkDraft) -> Network:
    """Create a network. Raises InvalidArgument."""
    with account_write():
        raise_field_errors(network_errors(draft))
        network = Network(**drafts.values(draft, NETWORK_COLUMNS))
        network.save(force_insert=True)
        return network


def network_update(*, network_id: str, changes: Mapping[str, Any]) -> Network:
    """Change what is given, keep the rest. Raises NotFound, InvalidArgument."""
    with account_write():
        network = network_get(network_id)
        stored = NetworkDraft(**drafts.values(network, NETWORK_COLUMNS))
        draft = replace(stored, **changes)
        raise_field_errors(network_errors(draft))
        drafts.fill(network, draft, NETWORK_COLUMNS)
        network.save()
        return network


def network_delete(*, network_id: str) -> None:
    """Delete a network with its resources and routers. Raises NotFound."""
    with account_write():
        network_get(network_id).delete()


def resource_create(*, network_id: str, draft: ResourceDraft) -> NetworkResource:
    """Create a resource in a network and put it into its groups.

    Raises NotFound, InvalidArgument, Conflict for a name in use.
    """
    with account_write():
        resource = NetworkResource(network=network_get(network_id))
        _write_resource(resource, draft, new=True)
        return resource


def resource_update(
    *, network_id: str, resource_id: str, changes: Mapping[str, Any]
) -> NetworkResource:
    """Change what is given, keep the rest. Raises as `resource_create`."""
    with account_write():
        resource = _resource(network_id, resource_id)
        stored = ResourceDraft(
            groups=groups_of_resources([resource.pk]).get(resource.pk, ()),
            **drafts.values(resource, RESOURCE_COLUMNS),
        )
        _write_resource(resource, replace(stored, **changes), new=False)
        return resource


def resource_delete(*, network_id: str, resource_id: str) -> None:
    """Delete a resource of a network. Raises NotFound."""
    with account_write():
        _resource(network_id, resource_id).delete()


def router_create(*, network_id: str, draft: RouterDraft) -> Router:
    """Create a router of a network. Raises NotFound, InvalidArgument."""
    with account_write():
        router = Router(network=network_get(network_id))
        _write_router(router, draft, new=True)
        return router


def router_update(
    *, network_id: str, router_id: str, changes: Mapping[str, Any]
) -> Router:
    """Change what is given, keep the rest; of peer and peer_groups one displaces
    the other. Raises NotFound, InvalidArgument.
    """
    with account_write():
        router = _router(network_id, router_id)
        stored = RouterDraft(
            peer=router.peer_id or "",
            peer_groups=member_keys(RouterPeerGroup, router),
            **drafts.values(router, ROUTER_COLUMNS),
        )
        draft = replace(stored, **displaced(changes))
        emptied = () if stored.peer or stored.peer_groups else ("peer",)
        _write_router(router, draft, new=False, emptied=emptied)
        return router


def router_delete(*, network_id: str, router_id: str) -> None:
    """Delete a router of a network. Raises NotFound."""
    with account_write():
        _router(network_id, router_id).delete()


def _resource(network_id: str, resource_id: str) -> NetworkResource:
    network = network_get(network_id)
    return found(NetworkResource, resource_id, kind=RESOURCE_KIND, network=network)


def _router(network_id: str, router_id: str) -> Router:
    network = network_get(network_id)
    return found(Router, router_id, kind=ROUTER_KIND, network=network)


def _write_resource(
    resource: NetworkResource, draft: ResourceDraft, *, new: bool
) -> None:
    namesakes = NetworkResource.objects.filter(name=draft.name).exclude(pk=resource.pk)
    raise_field_errors(
        resource_errors(
            draft,
            known_groups=known_groups(draft.groups),
            name_taken=namesakes.exists(),
        )
    )
    kind = parse_address(draft.address).type
    kind_before = resource.type
    drafts.fill(resource, draft, RESOURCE_COLUMNS)
    resource.type = kind
    resource.save(force_insert=new)
    if not new and kind_before != kind:
        retype_rules(resource.pk, kind_before, kind)
    set_groups_of_resource(resource.pk, kind, draft.groups, kind_before=kind_before)


def _write_router(
    router: Router, draft: RouterDraft, *, new: bool, emptied: Sequence[str] = ()
) -> None:
    facts = RoutingFacts(
        groups=known_groups(draft.peer_groups),
        peers=known_ids(Peer, [draft.peer]),
        emptied=emptied,
    )
    raise_field_errors(router_errors(draft, facts))
    router.peer_id = draft.peer or None
    drafts.fill(router, draft, ROUTER_COLUMNS)
    router.save(force_insert=new)
    set_members(RouterPeerGroup, router, draft.peer_groups, new=new)
