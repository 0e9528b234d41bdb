"""What groups have for the other rooms."""

from collections.abc import Collection
from typing import Any

from events import directory
from events.models import AuditEvent
from groups import audit, ipv6
from groups.models import ALL, Group, Issued
from groups.selectors import (
    all_group_id,
    members_among,
    short_groups_by_peer,
    unknown_groups,
)
from groups.services import take_peers_out, take_resources_out
from meshmgmt.accounts import contributions as accounts
from meshmgmt.accounts.models import Account
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms
from meshmgmt.core.queries import tables_exist
from meshmgmt.inventory import contributions as inventory
from meshmgmt.inventory.signals import peers_deleting, resources_deleting
from observability.metrics.counting import by_value
from observability.registries import register_inventory


def register() -> None:
    audit.register()
    ipv6.register()
    rooms.after_migration("groups", make_all_group)
    accounts.unknown_groups.add("groups", unknown_groups)
    directory.unlogged.add("groups", unlogged_reporters)
    inventory.peer_groups.add("groups", short_groups_by_peer)
    peers_deleting.connect(take_peers_out, dispatch_uid="groups.peers")
    resources_deleting.connect(take_resources_out, dispatch_uid="groups.resources")
    modelmodules.assign("groups", "groups")
    register_constraint(
        "a group with this name exists already",
        "group_name_unique",
        "groups_group.name",
    )
    register_inventory(
        "mesh_groups",
        "Groups, by who made them.",
        ("issued",),
        lambda: by_value(Group.objects, "issued", *Issued.values),
    )


def make_all_group(**kwargs: Any) -> None:
    """Make the group of all peers when it is missing (after migrations and flushes)."""
    # While only some apps are migrated, the group or its event has no table.
    if tables_exist(Group, AuditEvent) and not all_group_id():
        Group(name=ALL).save()


def unlogged_reporters(reporters: Collection[str]) -> Collection[str]:
    """Return the reporting peers whose traffic is not kept.

    All of them when the account keeps none; with groups named, those in no such group.
    """
    settings = Account.objects.values_list(
        "network_traffic_logs_enabled", "network_traffic_logs_groups"
    ).first()
    # Before there is an account everything is kept.
    enabled, groups = settings or (True, [])
    if not enabled:
        return set(reporters)
    if not groups:
        return set()
    return set(reporters) - members_among(groups, list(reporters))
