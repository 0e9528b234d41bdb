"""Writes of groups, by the API, the admin site and commands; some are foreseen first."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from groups import rules
from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from groups.rules import ResourceKey
from groups.selectors import KIND, resource_types, static_groups
from meshmgmt.core import textrules
from meshmgmt.core.errors import InvalidArgument, raise_field_errors
from meshmgmt.core.orderedlinks import (
    append_members,
    drop_members,
    member_keys,
    remove_from_lists,
    set_members,
)
from meshmgmt.core.queries import batches, found, known_ids, stored
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer


def group_create(
    *,
    name: str,
    peers: Sequence[str] = (),
    resources: Sequence[ResourceKey] = (),
    issued: str = Issued.API,
) -> Group:
    """Create a group of peers (ids) and resources (id, type).

    Raises InvalidArgument with the faulty fields, Conflict for a name in use.
    """
    with account_write():
        group = Group(name=name, issued=issued)
        _check(group, peers, resources)
        group.save()
        set_members(GroupPeer, group, peers, new=True)
        set_members(GroupResource, group, resources, new=True)
        return group


def group_update(
    *,
    group_id: str,
    name: str,
    peers: Sequence[str] | None,
    resources: Sequence[ResourceKey],
) -> Group:
    """Replace name, peers (None: they stay) and resources of a group.

    Raises NotFound, InvalidArgument (also for the group `All`), Conflict.
    """
    with account_write():
        group = found(Group, group_id, kind=KIND)
        _refuse_all(group, "the group All cannot be changed")
        before, group.name = group.name, name
        listed = [] if peers is None else member_keys(GroupPeer, group)
        _check(group, peers or (), resources, listed)
        if name != before:
            group.save(update_fields=["name"])
        if peers is not None:
            set_members(GroupPeer, group, peers, before=listed)
        set_members(GroupResource, group, resources)
        return group


def group_delete(*, group_id: str) -> None:
    """Delete a group and every reference to it. Raises NotFound, InvalidArgument."""
    with account_write():
        group = found(Group, group_id, kind=KIND)
        _refuse_all(group, "the group All cannot be deleted")
        group.delete()


def change_groups_of_peers(
    peer_ids: Sequence[str], *, join: Sequence[str] = (), leave: Sequence[str] = ()
) -> None:
    """Add peers to groups and take them out of others; `All` stays as it is.

    Only the rows of these peers are read and written, whatever else the groups hold.
    """
    with account_write(savepoint=False):
        joining, leaving = set(join), set(leave)
        # Read by a kept statement, which has no order; events shall have one.
        groups = stored(Group, joining | leaving)
        for group in sorted(groups, key=lambda group: group.pk):
            if group.is_all:
                continue
            change = append_members if group.pk in joining else drop_members
            change(GroupPeer, group, peer_ids)


def set_groups_of_peer(peer_id: str, group_ids: Sequence[str]) -> None:
    """Put a peer into exactly these of the groups made by people, `All` aside.

    Groups of an identity provider and of claims stay as they are. Raises InvalidArgument.
    """
    with account_write():
        mine = static_groups().filter(peer_links__peer=peer_id).order_by("pk")
        before = list(mine.values_list("pk", flat=True))
        known = set(
            static_groups().filter(pk__in=group_ids).values_list("pk", flat=True)
        )
        raise_field_errors(
            [*textrules.unknown_id_errors("groups", group_ids, known, kind=KIND)]
        )
        change_groups_of_peers(
            [peer_id],
            join=[pk for pk in group_ids if pk not in set(before)],
            leave=[pk for pk in before if pk not in set(group_ids)],
        )


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
            # In its place: a change of type moves nothing in the list.
            after = [new if key == old else key for key in before]
            if group.pk not in wanted:
                after = [key for key in after if key != new]
            elif new not in after:
                after.append(new)
            set_members(GroupResource, group, after)


def take_peers_out(ids: Sequence[str], **kwargs: Any) -> None:
    """Remove peers from every group that lists them as peer or as resource."""
    for part in batches(ids):
        remove_from_lists(GroupPeer, peer_id__in=part)
        remove_from_lists(GroupResource, resource_id__in=part, resource_type="peer")


def take_resources_out(ids: Sequence[str], **kwargs: Any) -> None:
    """Remove resources of networks from every group that lists them."""
    for part in batches(ids):
        remove_from_lists(GroupResource, resource_id__in=part)


def _refuse_all(group: Group, message: str) -> None:
    if group.is_all:
        raise InvalidArgument.about("name", message)


def _check(
    group: Group,
    peers: Sequence[str],
    resources: Sequence[ResourceKey],
    listed: Sequence[str] = (),
) -> None:
    # Foreign keys hold the peers that are listed already.
    there = set(listed)
    there |= known_ids(Peer, [pk for pk in peers if pk not in there])
    raise_field_errors(
        [
            *rules.name_errors(group.name, taken=_name_is_taken(group)),
            *rules.peer_errors(peers, known=there),
            *rules.resource_errors(
                resources, known=resource_types(key[0] for key in resources)
            ),
        ]
    )


def _name_is_taken(group: Group) -> bool:
    """Names are unique among groups of the API; `All` is nobody else's."""
    others = Group.objects.filter(name=group.name, issued=Issued.API)
    if group.issued != Issued.API and group.name != ALL:
        return False
    return others.exclude(pk=group.pk).exists()


NAMED: Final = 20
"""How many of the peers that a change touches are named."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a change does to one group.

    `changing` are the peers that join or leave, `same` is the number of those that are
    in the group already, or are not in it. `named` are the first names of `changing`,
    `unnamed` is the number of the others.
    """

    group: Group
    joins: bool
    changing: Sequence[str]
    same: int
    named: Sequence[str]
    unnamed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which of the chosen peers would leave and join which groups."""

    peers: Sequence[str]
    parts: Sequence[Part]

    @property
    def changes(self) -> int:
        """How many memberships come or go."""
        return sum(len(part.changing) for part in self.parts)

    @property
    def mark(self) -> str:
        """A text that is another one when the same choice would do something else."""
        # Sorted: the order of a choice changes nothing of what would be done.
        told = [
            f"{part.group.pk} {part.joins} {','.join(sorted(part.changing))}"
            for part in self.parts
        ]
        seen = "\n".join([",".join(sorted(self.peers)), *told])
        return hashlib.sha256(seen.encode()).hexdigest()[:24]


def plan(peer_ids: Sequence[str], *, join: Sequence[str], leave: Sequence[str]) -> Plan:
    """Return what `change_groups_of_peers` would do; `All` has no part in it."""
    chosen = list(dict.fromkeys(peer_ids))
    found = Group.objects.in_bulk([*leave, *join])
    groups = [(pk, pk in join) for pk in dict.fromkeys([*leave, *join]) if pk in found]
    return Plan(
        peers=chosen,
        parts=[
            _part(found[pk], joins, chosen)
            for pk, joins in groups
            if not found[pk].is_all
        ],
    )


def carry_out(wanted: Plan) -> None:
    """Do what a plan says, in one write with the events of each membership."""
    change_groups_of_peers(
        wanted.peers,
        join=[part.group.pk for part in wanted.parts if part.joins],
        leave=[part.group.pk for part in wanted.parts if not part.joins],
    )


def _part(group: Group, joins: bool, chosen: Sequence[str]) -> Part:
    links = GroupPeer.objects.filter(group=group).order_by()
    inside = set(links.values_list("peer_id", flat=True))
    changing = [pk for pk in chosen if (pk in inside) != joins]
    return Part(
        group=group,
        joins=joins,
        changing=changing,
        same=len(chosen) - len(changing),
        named=_names(changing[:NAMED]),
        unnamed=max(0, len(changing) - NAMED),
    )


def _names(peer_ids: Sequence[str]) -> list[str]:
    peers = Peer.objects.filter(pk__in=peer_ids)
    names = dict(peers.values_list("pk", "name"))
    return [names[pk] for pk in peer_ids if pk in names]
