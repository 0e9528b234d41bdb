"""What events show of peers and network resources."""

from collections.abc import Collection, Iterator

from events.directory import PeerFacts, ResourceFacts, directory
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.core.queries import rows_with
from meshmgmt.inventory.labels import full_name
from meshmgmt.inventory.models import NetworkResource, Peer


def register() -> None:
    """Let the events' directory ask here."""
    directory.peers = peers
    directory.resources = resources


def peers(ids: Collection[str], addresses: Collection[str]) -> Iterator[PeerFacts]:
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


def resources(ids: Collection[str]) -> Iterator[ResourceFacts]:
    rows = NetworkResource.objects.values_list("pk", "name", "type")
    for key, name, kind in rows_with(rows, {"pk": ids}):
        yield ResourceFacts(id=key, name=name, type=kind)
