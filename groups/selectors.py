"""Reads of groups; the number of queries does not depend on the size of the data."""

from collections.abc import Callable, Iterable, Sequence

from django.db.models import Count

from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.registries import ShortGroup


def all_group_id() -> str:
    """Return the id of the group `All`, "" when there is none."""
    ids = Group.objects.filter(name=ALL, issued=Issued.API).values_list("pk", flat=True)
    return ids.first() or ""


def group_names(group_ids: Iterable[str]) -> dict[str, str]:
    """Return the names of the groups by id; unknown ids are missing."""
    wanted = list(dict.fromkeys(group_ids))
    names: dict[str, str] = {}
    for start in range(0, len(wanted), 500):
        part = wanted[start : start + 500]
        names.update(Group.objects.filter(pk__in=part).values_list("pk", "name"))
    return names


def unknown_group_ids(group_ids: Iterable[str]) -> list[str]:
    """Return those of the ids that name no group, in their order."""
    wanted = list(dict.fromkeys(group_ids))
    known = group_names(wanted)
    return [group_id for group_id in wanted if group_id not in known]


def short_groups(group_ids: Sequence[str] | None = None) -> dict[str, ShortGroup]:
    """Return groups as other objects show them, by id, in the order of creation."""
    groups = Group.objects.order_by("pk")
    peers = GroupPeer.objects.order_by()
    resources = GroupResource.objects.order_by()
    if group_ids is not None:
        groups = groups.filter(pk__in=group_ids)
        peers = peers.filter(group__in=group_ids)
        resources = resources.filter(group__in=group_ids)
    peer_counts = _by_group(peers.values_list("group_id").annotate(n=Count("id")))
    resource_counts = _by_group(
        resources.values_list("group_id").annotate(n=Count("id"))
    )
    return {
        pk: {
            "id": pk,
            "name": name,
            "peers_count": Peer.objects.count()
            if _is_all(name, issued)
            else peer_counts.get(pk, 0),
            "resources_count": resource_counts.get(pk, 0),
        }
        for pk, name, issued in groups.values_list("pk", "name", "issued")
    }


def short_groups_by_peer(
    peer_ids: Sequence[str] | None,
) -> Callable[[str], list[ShortGroup]]:
    """Return a function that gives the groups of a peer, by its id.

    `peer_ids` are the peers it will be asked for, None for all. The group `All` is one
    of everybody's groups; the order is that of the groups' creation.
    """
    links = GroupPeer.objects.order_by("group_id", "id")
    if peer_ids is not None:
        links = links.filter(peer__in=peer_ids)
    rows = list(links.values_list("peer_id", "group_id"))
    everybody = all_group_id()
    wanted = None if peer_ids is None else [*{group for _, group in rows}, everybody]
    shown = short_groups(wanted)
    common = [shown[everybody]] if everybody in shown else []
    by_peer: dict[str, list[ShortGroup]] = {}
    for peer_id, group_id in rows:
        by_peer.setdefault(peer_id, [*common]).append(shown[group_id])
    return lambda peer_id: by_peer.get(peer_id, common)


def _by_group(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(counts)


def _is_all(name: str, issued: str) -> bool:
    return name == ALL and issued == Issued.API
