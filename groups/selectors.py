"""Reads of groups; the number of queries does not depend on the size of the data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from django.db.models import Count, QuerySet

from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from groups.references import usages_of
from meshmgmt.core.ids import is_id
from meshmgmt.core.orderedlinks import OrderedLink, link_rows
from meshmgmt.core.queries import Prepared, batches, found, known_ids, narrowed
from meshmgmt.inventory.contributions import ShortGroup
from meshmgmt.inventory.models import NetworkResource, Peer

KIND: Final = "group"
Row = dict[str, Any]
Lists = dict[str, list[Row]]
"""By group: what it lists, in the order of the list."""


def all_group_id() -> str:
    """Return the id of the group `All`, "" when there is none."""
    ids = Group.objects.filter(name=ALL, issued=Issued.API).values_list("pk", flat=True)
    return ids.first() or ""


def static_groups() -> QuerySet[Group]:
    """Return the groups that people fill: all that were made over the API but `All`."""
    return Group.objects.filter(issued=Issued.API).exclude(name=ALL)


def known_groups(ids: Iterable[str]) -> set[str]:
    return known_ids(Group, ids)


def unknown_groups(ids: Sequence[str]) -> list[str]:
    """Return those of the ids that name no group, in their order."""
    known = known_groups(ids)
    return [group_id for group_id in dict.fromkeys(ids) if group_id not in known]


def group_members(group_ids: Iterable[str]) -> dict[str, set[str]]:
    """Return the ids of the peers in each of the groups; everybody is in `All`."""
    members: dict[str, set[str]] = {group_id: set() for group_id in group_ids}
    links = GroupPeer.objects.filter(group__in=list(members)).order_by()
    for group_id, peer_id in links.values_list("group_id", "peer_id"):
        members[group_id].add(peer_id)
    if (everybody := all_group_id()) in members:
        members[everybody] = set(Peer.objects.values_list("pk", flat=True))
    return members


def members_among(group_ids: Sequence[str], peer_ids: Sequence[str]) -> set[str]:
    """Return those of the peers that are in one of the groups; everybody is in `All`."""
    if all_group_id() in group_ids:
        return known_ids(Peer, peer_ids)
    links = GroupPeer.objects.filter(group__in=group_ids).order_by()
    # Of these peers alone: the groups may be large, and joining them is frequent.
    return {
        pk
        for part in batches(peer_ids)
        for pk in links.filter(peer__in=part).values_list("peer_id", flat=True)
    }


def groups_of_resources(resource_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the groups that each resource of a network is in, in creation order."""
    found: dict[str, list[str]] = {}
    for part in batches(resource_ids):
        links = GroupResource.objects.filter(resource_id__in=part)
        links = links.exclude(resource_type="peer").order_by("group_id", "id")
        for resource_id, group_id in links.values_list("resource_id", "group_id"):
            found.setdefault(resource_id, []).append(group_id)
    return found


def short_groups(group_ids: Sequence[str] | None = None) -> dict[str, ShortGroup]:
    """Return groups as other objects show them, by id, in the order of creation."""
    groups = narrowed(Group.objects.order_by("pk"), group_ids)
    peers = narrowed(GroupPeer.objects.order_by(), group_ids, "group")
    resources = narrowed(GroupResource.objects.order_by(), group_ids, "group")
    peer_counts = dict(peers.values_list("group_id").annotate(n=Count("id")))
    resource_counts = dict(resources.values_list("group_id").annotate(n=Count("id")))
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
    links = narrowed(GroupPeer.objects.order_by("group_id", "id"), peer_ids, "peer")
    rows = list(links.values_list("peer_id", "group_id"))
    everybody = all_group_id()
    wanted = None if peer_ids is None else [*{group for _, group in rows}, everybody]
    shown = short_groups(wanted)
    common = [shown[everybody]] if everybody in shown else []
    by_peer: dict[str, list[ShortGroup]] = {}
    for peer_id, group_id in rows:
        # `All` was made with the database, so it comes first.
        by_peer.setdefault(peer_id, [*common]).append(shown[group_id])
    return lambda peer_id: by_peer.get(peer_id, common)


def _is_all(name: str, issued: str) -> bool:
    return name == ALL and issued == Issued.API


def resource_types(ids: Iterable[str]) -> dict[str, str]:
    """Return the type of each id that names a peer or a resource of a network."""
    # They are as clients gave them: what has not an id's form names nothing.
    wanted = [identifier for identifier in dict.fromkeys(ids) if is_id(identifier)]
    types = dict.fromkeys(known_ids(Peer, wanted), "peer")
    for part in batches(wanted):
        rows = NetworkResource.objects.filter(pk__in=part)
        types.update(rows.values_list("pk", "type"))
    return types


def group_rows(group_id: str = "", *, name: str = "") -> list[Row]:
    """Return groups as the API shows them, in the order of creation.

    All of them, or the one with the id, or those with exactly this name.
    """
    if "\0" in name:  # in no stored name, and PostgreSQL cannot be asked for it
        return []
    heads = _heads(group_id, name)
    chosen = [row[0] for row in heads] if group_id or name else None
    wants_all = chosen is None or any(_is_all(row[1], row[2]) for row in heads)
    everybody = _every_peer() if wants_all else []
    if chosen is None:
        listed = _listed_peers(everybody)
    else:
        listed = _entries(GroupPeer, chosen, id="peer_id", name="peer__name")
    resources = _entries(GroupResource, chosen, id="resource_id", type="resource_type")
    rows = []
    for pk, its_name, issued in heads:
        peers = everybody if _is_all(its_name, issued) else listed.get(pk, [])
        rows.append(
            {
                "id": pk,
                "name": its_name,
                "peers_count": len(peers),
                "resources_count": len(resources.get(pk, [])),
                "issued": issued,
                "peers": peers,
                "resources": resources.get(pk, []),
            }
        )
    return rows


def _heads(group_id: str, name: str) -> list[Any]:
    if group_id:
        return [*_HEAD.rows(group_id)]
    groups = Group.objects.order_by("pk")
    if name:
        groups = groups.filter(name=name)
    return list(groups.values_list("pk", "name", "issued"))


_HEAD: Final = Prepared(
    lambda pk: Group.objects.filter(pk=pk).values_list("pk", "name", "issued")
)


def _listed_peers(everybody: list[Row]) -> Lists:
    """Return the listed peers of all groups, by group, in the order of the lists.

    Peers and lists are read apart: a peer in many groups is then made into a dict once,
    which is what the long list would spend its time on.
    """
    peers = {peer["id"]: peer for peer in everybody}
    links = GroupPeer.objects.order_by("group_id", "position", "id")
    by_group: Lists = {}
    for group_id, peer_id in links.values_list("group_id", "peer_id"):
        by_group.setdefault(group_id, []).append(peers[peer_id])
    return by_group


def _entries(
    link: type[OrderedLink], group_ids: Sequence[str] | None, **columns: str
) -> Lists:
    """Return what groups list, None: all groups; two `columns` by how they are shown."""
    by_group: Lists = {}
    one, other = columns
    for group_id, first, second in link_rows(link, group_ids, *columns.values()):
        by_group.setdefault(group_id, []).append({one: first, other: second})
    return by_group


def _every_peer() -> list[Row]:
    rows = Peer.objects.order_by("pk").values_list("pk", "name")
    return [{"id": pk, "name": name} for pk, name in rows]


def group_usage(group_id: str) -> Row:
    """Return what refers to a group and what its deletion would do. Raises NotFound."""
    group = found(Group, group_id, kind=KIND)
    [row] = group_rows(group_id)
    known = resource_types(entry["id"] for entry in row["resources"])
    return {
        "id": group.pk,
        "name": group.name,
        "deletable": not group.is_all,
        "peers_count": row["peers_count"],
        "resources_count": row["resources_count"],
        "unknown_resources": [
            entry for entry in row["resources"] if entry["id"] not in known
        ],
        "references": [asdict(usage) for usage in usages_of(group_id)],
    }
