"""What groups have for the other rooms."""

from collections.abc import Collection

from events.directory import directory
from groups import audit, gauges, ipv6, setup
from groups.models import GroupPeer, GroupResource
from groups.references import register_members
from groups.selectors import members_among, short_groups_by_peer, unknown_groups
from groups.services import take_peers_out, take_resources_out
from meshmgmt.accounts import contributions as accounts
from meshmgmt.accounts.models import Account
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms
from meshmgmt.inventory import contributions as inventory
from meshmgmt.inventory.signals import peers_deleting, resources_deleting


def register() -> None:
    audit.register()
    gauges.register()
    ipv6.register()
    rooms.after_migration("groups", setup.make_all_group)
    accounts.contributions.unknown_groups = unknown_groups
    directory.unlogged = unlogged_reporters
    inventory.contributions.peer_groups = short_groups_by_peer
    peers_deleting.connect(take_peers_out, dispatch_uid="groups.peers")
    resources_deleting.connect(take_resources_out, dispatch_uid="groups.resources")
    register_members(GroupPeer)
    register_members(GroupResource)
    modelmodules.assign("groups", "groups")
    register_constraint(
        "a group with this name exists already",
        "group_name_unique",
        "groups_group.name",
    )


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
