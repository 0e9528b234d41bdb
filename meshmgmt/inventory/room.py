"""What the inventory has for the other rooms, and what it does when theirs change."""

from collections.abc import Collection, Iterator

from django.http import HttpRequest

from events import directory
from events.directory import PeerFacts, ResourceFacts
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.accounts.signals import ranges_changed, user_blocked, user_deleting
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Figure, Place, Tone
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.core.queries import rows_with
from meshmgmt.inventory import audit, selectors
from meshmgmt.inventory.admin.peerlist import PeerStateFilter
from meshmgmt.inventory.labels import full_name
from meshmgmt.inventory.models import Network, NetworkResource, Peer
from meshmgmt.inventory.rules import UNIQUE
from meshmgmt.inventory.services import expiry
from meshmgmt.inventory.services.peers import (
    peers_of_user_delete,
    peers_of_user_expire,
    peers_renumber,
)
from meshmgmt.inventory.standing import peer_states
from observability.metrics.counting import by_state
from observability.registries import register_host_names, register_inventory


def register() -> None:
    audit.register()
    _register_gauges()
    home.contribute(Place.PEERS, "peers", _peer_figures)
    directory.peers.add("inventory", known_peers)
    directory.resources.add("inventory", known_resources)
    user_deleting.connect(peers_of_user_delete, dispatch_uid="inventory.user_deleting")
    user_blocked.connect(peers_of_user_expire, dispatch_uid="inventory.user_blocked")
    ranges_changed.connect(peers_renumber, dispatch_uid="inventory.ranges_changed")
    register_host_names("peers", selectors.host_names)
    register_job("expire_logins", expiry.EVERY_SECONDS, expiry.expire_logins)
    modelmodules.assign("peers", "inventory.peer")
    modelmodules.assign("networks", "inventory")
    for column, what in UNIQUE.items():
        register_constraint(
            f"another peer has this {what}",
            f"inventory_peer_{column}_key",
            f"UNIQUE constraint failed: inventory_peer.{column}",
        )
    register_constraint(
        "another resource has this name",
        "resource_name_unique",
        "inventory_networkresource.name",
    )


def _register_gauges() -> None:
    register_inventory(
        "mesh_peers",
        "Peers, by state: each peer is in exactly one.",
        ("state",),
        lambda: by_state(Peer.objects, **peer_states()),
    )
    register_inventory(
        "mesh_networks", "Networks.", (), lambda: {(): Network.objects.count()}
    )
    register_inventory(
        "mesh_network_resources",
        "Resources of networks.",
        (),
        lambda: {(): NetworkResource.objects.count()},
    )


def _peer_figures(request: HttpRequest) -> Iterator[Figure]:
    yield from home.state_figures(
        request,
        Peer,
        PeerStateFilter,
        {
            "connected": ("online", Tone.OK),
            "disconnected": ("offline", Tone.NONE),
            "approval_required": ("waiting for approval", Tone.WARN),
            "login_expired": ("must sign in again", Tone.WARN),
            "login_ends_soon": ("to sign in again within 3 hours", Tone.NONE),
        },
    )


def known_peers(
    ids: Collection[str], addresses: Collection[str]
) -> Iterator[PeerFacts]:
    """Yield the peers with one of the ids or addresses; dual-stack ones twice."""
    domain = account_domain()
    columns = ("pk", "name", "ip", "ipv6", "os", "dns_label", "user_id")
    found = rows_with(
        Peer.objects.values_list(*columns),
        {"pk": ids, "ip": addresses, "ipv6": addresses},
    )
    for key, name, ip, ipv6, system, label, user_id in found:
        # IPv4 last: who keeps one row for each peer keeps that.
        for address in (ipv6, ip):
            if address:
                yield PeerFacts(
                    id=key,
                    name=name,
                    address=address,
                    os=system,
                    dns_label=full_name(label, domain),
                    user_id=user_id or "",
                )


def known_resources(ids: Collection[str]) -> Iterator[ResourceFacts]:
    rows = NetworkResource.objects.values_list("pk", "name", "type")
    for key, name, kind in rows_with(rows, {"pk": ids}):
        yield ResourceFacts(id=key, name=name, type=kind)
