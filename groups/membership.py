"""Facts about membership that lower rooms show or act on."""

from collections.abc import Collection, Iterable, Sequence

from events.audit.links import member_keys, remove_from_lists, set_members
from events.enrichment import directory
from groups.models import Group, GroupPeer, GroupResource
from groups.selectors import all_group_id, short_groups_by_peer, unknown_group_ids
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.registries import register_group_check
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory import registries
from meshmgmt.inventory.models import Peer


def register() -> None:
    """Tell the inventory which groups its peers are in, and how to take them out.

    Tell the account which groups its settings may name, and the events whose traffic is
    kept.
    """
    register_group_check(unknown_group_ids)
    directory.unlogged = unlogged_reporters
    registries.register_peer_groups(short_groups_by_peer)
    registries.register_peer_unlinker(take_peers_out)
    registries.register_resource_unlinker(take_resources_out)


def unlogged_reporters(reporters: Collection[str]) -> Collection[str]:
    """Return the reporting peers whose traffic is not kept.

    All of them when the account keeps none; with groups named, those in no such group.
    """
    settings = Account.objects.values_list(
        "network_traffic_logs_enabled", "network_traffic_logs_groups"
    ).first()
    enabled, groups = settings or (True, [])
    if not enabled:
        return set(reporters)
    if not groups:
        return set()
    members = group_members(groups)
    return set(reporters).difference(*members.values())


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


def group_members(group_ids: Iterable[str]) -> dict[str, set[str]]:
    """Return the ids of the peers in each of the groups; everybody is in `All`."""
    members: dict[str, set[str]] = {group_id: set() for group_id in group_ids}
    links = GroupPeer.objects.filter(group__in=list(members)).order_by()
    for group_id, peer_id in links.values_list("group_id", "peer_id"):
        members[group_id].add(peer_id)
    if (everybody := all_group_id()) in members:
        members[everybody] = set(Peer.objects.values_list("pk", flat=True))
    return members


def groups_of_peer(peer_id: str) -> list[str]:
    """Return the ids of the groups that a peer is in, `All` among them."""
    links = GroupPeer.objects.filter(peer=peer_id).order_by("group_id")
    listed = list(links.values_list("group_id", flat=True))
    everybody = all_group_id()
    return [everybody, *listed] if everybody else listed


def groups_of_resources(resource_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the groups that each resource of a network is in, in creation order."""
    found: dict[str, list[str]] = {}
    for start in range(0, len(resource_ids), 500):
        part = resource_ids[start : start + 500]
        links = GroupResource.objects.filter(resource_id__in=part)
        links = links.exclude(resource_type="peer").order_by("group_id", "id")
        for resource_id, group_id in links.values_list("resource_id", "group_id"):
            found.setdefault(resource_id, []).append(group_id)
    return found


def set_groups_of_resource(
    resource_id: str, kind: str, group_ids: Sequence[str], *, kind_before: str = ""
) -> None:
    """Put a resource of a network into exactly these groups, under its type.

    `kind_before` is the type it is listed under now, when that has changed.
    """
    with account_write():
        old = (resource_id, kind_before or kind)
        new = (resource_id, kind)
        wanted = set(group_ids)
        links = GroupResource.objects.filter(resource_id=old[0], resource_type=old[1])
        touched = wanted | set(links.values_list("group_id", flat=True))
        for group in Group.objects.filter(pk__in=touched).order_by("pk"):
            before = member_keys(GroupResource, group)
            after = [new if key == old else key for key in before]
            if group.pk not in wanted:
                after = [key for key in after if key != new]
            elif new not in after:
                after.append(new)
            set_members(GroupResource, group, after)


def change_groups_of_peers(
    peer_ids: Sequence[str], *, join: Sequence[str] = (), leave: Sequence[str] = ()
) -> None:
    """Add peers to groups and take them out of others; `All` stays as it is."""
    with account_write():
        joining, leaving = set(join), set(leave)
        groups = Group.objects.filter(pk__in=joining | leaving).order_by("pk")
        for group in groups:
            if group.is_all:
                continue
            after = member_keys(GroupPeer, group)
            if group.pk in joining:
                after = [*after, *peer_ids]  # repeats are folded
            else:
                gone = set(peer_ids)
                after = [pk for pk in after if pk not in gone]
            set_members(GroupPeer, group, after)
