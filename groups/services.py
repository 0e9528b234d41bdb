"""Writes of groups: the API, the admin site and commands all come through here."""

from collections.abc import Sequence
from typing import Final

from events.audit.links import set_members
from groups import rules
from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from groups.rules import ResourceKey
from groups.selectors import known_peer_ids, known_resource_types
from meshmgmt.core.errors import InvalidArgument, NotFound, raise_field_errors
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.transactions import account_write

KIND: Final = "group"


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
        _check(Group(name=name, issued=issued), peers, resources)
        group = Group(name=name, issued=issued)
        group.save()
        set_members(GroupPeer, group, peers, new=True)
        set_members(GroupResource, group, resources, new=True)
        return group


def group_update(
    *,
    group_id: str,
    name: str,
    peers: Sequence[str],
    resources: Sequence[ResourceKey],
) -> Group:
    """Replace name, peers and resources of a group.

    Raises NotFound, InvalidArgument (also for the group `All`), Conflict.
    """
    with account_write():
        group = _group(group_id)
        _refuse_all(group, "the group All cannot be changed")
        wanted = Group(pk=group.pk, name=name, issued=group.issued)
        _check(wanted, peers, resources)
        if group.name != name:
            group.name = name
            group.save(update_fields=["name"])
        set_members(GroupPeer, group, peers)
        set_members(GroupResource, group, resources)
        return group


def group_delete(*, group_id: str) -> None:
    """Delete a group and every reference to it. Raises NotFound, InvalidArgument."""
    with account_write():
        group = _group(group_id)
        _refuse_all(group, "the group All cannot be deleted")
        group.delete()


def _group(group_id: str) -> Group:
    group = Group.objects.filter(pk=group_id).first()
    if group is None:
        raise NotFound.of(KIND, group_id)
    return group


def _refuse_all(group: Group, message: str) -> None:
    if group.is_all:
        raise InvalidArgument(message, [FieldError("name", message)])


def _check(
    group: Group, peers: Sequence[str], resources: Sequence[ResourceKey]
) -> None:
    raise_field_errors(
        [
            *rules.name_errors(group.name, taken=_name_is_taken(group)),
            *rules.peer_errors(peers, known=known_peer_ids(peers)),
            *rules.resource_errors(resources, known=known_resource_types(resources)),
        ]
    )


def _name_is_taken(group: Group) -> bool:
    """Names are unique among groups of the API; `All` is nobody else's."""
    others = Group.objects.filter(name=group.name, issued=Issued.API)
    if group.issued != Issued.API and group.name != ALL:
        return False
    return others.exclude(pk=group.pk).exists()
