"""Facts about membership that lower rooms show or act on."""

from collections.abc import Sequence

from events.audit.links import remove_from_lists
from groups.models import GroupPeer, GroupResource
from groups.selectors import short_groups_by_peer
from meshmgmt.inventory import registries


def register() -> None:
    """Tell the inventory which groups its peers are in, and how to take them out."""
    registries.register_peer_groups(short_groups_by_peer)
    registries.register_peer_unlinker(take_peers_out)
    registries.register_resource_unlinker(take_resources_out)


def take_peers_out(peer_ids: Sequence[str]) -> None:
    """Remove peers from every group that lists them as peer or as resource."""
    for start in range(0, len(peer_ids), 500):
        part = peer_ids[start : start + 500]
        remove_from_lists(GroupPeer, peer_id__in=part)
        remove_from_lists(GroupResource, resource_id__in=part, resource_type="peer")


def take_resources_out(resource_ids: Sequence[str]) -> None:
    """Remove resources of networks from every group that lists them."""
    for start in range(0, len(resource_ids), 500):
        remove_from_lists(
            GroupResource, resource_id__in=resource_ids[start : start + 500]
        )
