"""What access objects have for the other rooms."""

from collections.abc import Collection
from functools import partial

from events.directory import directory
from meshmgmt.access import audit, defaultpolicy, homecards, references
from meshmgmt.access.models import Policy, UserAutoGroup
from meshmgmt.access.services.autogroups import (
    errors_of_auto_groups,
    forget_auto_groups,
    set_auto_groups,
    set_jwt_groups,
)
from meshmgmt.access.services.removal import take_peers_out, take_resources_out
from meshmgmt.accounts.contributions import contributions
from meshmgmt.accounts.signals import user_deleting
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.queries import rows_with
from meshmgmt.inventory.signals import peers_deleting, resources_deleting

_ROUTE_MODELS = ("route", "routegroup", "routepeergroup", "routeaccesscontrolgroup")


def register() -> None:
    audit.register()
    homecards.register()
    references.register()
    rooms.after_migration("access", defaultpolicy.after_migration)
    directory.policies = policy_names
    peers_deleting.connect(take_peers_out, dispatch_uid="access.peers")
    resources_deleting.connect(take_resources_out, dispatch_uid="access.resources")
    register_constraint(
        "a posture check with this name exists already",
        "posture_check_name_unique",
        "access_posturecheck.name",
    )
    contributions.auto_groups = partial(ids_by_owner, UserAutoGroup)
    contributions.auto_group_errors = errors_of_auto_groups
    contributions.set_auto_groups = set_auto_groups
    contributions.set_jwt_groups = set_jwt_groups
    contributions.auto_group_column = UserAutoGroup._meta.get_field("group")
    user_deleting.connect(forget_auto_groups, dispatch_uid="access.user_deleting")
    modelmodules.assign("policies", "access")
    modelmodules.assign("routes", *(f"access.{name}" for name in _ROUTE_MODELS))
    modelmodules.assign("networks", "access.router", "access.routerpeergroup")
    modelmodules.assign("setup_keys", "access.setupkey", "access.setupkeyautogroup")
    modelmodules.assign(
        "users", "access.userautogroup", "access.invite", "access.inviteautogroup"
    )


def policy_names(ids: Collection[str]) -> dict[str, str]:
    return dict(rows_with(Policy.objects.values_list("pk", "name"), {"pk": ids}))
