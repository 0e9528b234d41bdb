"""What events show of peers and network resources."""

from collections.abc import Collection, Iterator

from django.db.models import Q

from events.directory import PeerFacts, ResourceFacts, directory
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.inventory.models import NetworkResource, Peer


def register() -> None:
    """Let the events' directory ask here."""
    directory.peers = peers
    directory.resources = resources


def peers(ids: Collection[str], addresses: Collection[str]) -> Iterator[PeerFacts]:
    """Yield the peers with one of the ids or addresses; dual-stack ones twice."""
    domain = account_domain()
    wanted = Q(pk__in=ids) | Q(ip__in=addresses) | Q(ipv6__in=addresses)
    columns = ("pk", "name", "ip", "ipv6", "os", "dns_label", "user_id")
    for key, name, ip, ipv6, system, label, user_id in Peer.objects.filter(
        wanted
    ).values_list(*columns):
        # IPv4 last: who keeps one row for each peer keeps that.
        for address in (ipv6, ip):
            if address:
                yield PeerFacts(
                    id=key,
                    name=name,
                    address=address,
                    os=system,
                    dns_label=f"{label}.{domain}" if domain else label,
                    user_id=user_id or "",
                )


def resources(ids: Collection[str]) -> Iterator[ResourceFacts]:
    for key, name, kind in NetworkResource.objects.filter(pk__in=ids).values_list(
        "pk", "name", "type"
    ):
        yield ResourceFacts(id=key, name=name, type=kind)
