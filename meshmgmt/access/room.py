"""What access objects have for the other rooms."""

from collections.abc import Collection, Iterator
from functools import partial

from django.http import HttpRequest
from django.urls import reverse

from events import directory
from groups import references
from groups.references import JsonReference, ListReference
from meshmgmt.access import audit, models
from meshmgmt.access.admin.enrolment import SetupKeyStateFilter
from meshmgmt.access.models import Policy, SetupKey, UserAutoGroup
from meshmgmt.access.services.enrolment import (
    errors_of_auto_groups,
    forget_auto_groups,
    join_auto_groups,
    set_auto_groups,
    set_jwt_groups,
)
from meshmgmt.access.services.policies import make_default_policy
from meshmgmt.access.services.removal import (
    disable_policies_without_rules,
    take_peers_out,
    take_resources_out,
)
from meshmgmt.accounts import contributions
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.signals import propagation_begun, user_deleting
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Line, Place
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules, rooms
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.core.queries import rows_with
from meshmgmt.inventory.signals import peers_deleting, resources_deleting

_ROUTE_MODELS = ("route", "routegroup", "routepeergroup", "routeaccesscontrolgroup")


def register() -> None:
    audit.register()
    home.contribute_ending("setup_keys", SetupKey, SetupKeyStateFilter, "setup key{s}")
    home.contribute(Place.PEOPLE, "users", _way_to_invite)
    _register_references()
    rooms.after_migration("access", make_default_policy)
    directory.policies.add("access", policy_names)
    peers_deleting.connect(take_peers_out, dispatch_uid="access.peers")
    resources_deleting.connect(take_resources_out, dispatch_uid="access.resources")
    register_constraint(
        "a posture check with this name exists already",
        "posture_check_name_unique",
        "access_posturecheck.name",
    )
    contributions.auto_groups.add("access", partial(ids_by_owner, UserAutoGroup))
    contributions.auto_group_errors.add("access", errors_of_auto_groups)
    contributions.set_auto_groups.add("access", set_auto_groups)
    contributions.set_jwt_groups.add("access", set_jwt_groups)
    contributions.auto_group_column.add(
        "access", UserAutoGroup._meta.get_field("group")
    )
    user_deleting.connect(forget_auto_groups, dispatch_uid="access.user_deleting")
    propagation_begun.connect(join_auto_groups, dispatch_uid="access.propagation")
    modelmodules.assign("policies", "access")
    modelmodules.assign("routes", *(f"access.{name}" for name in _ROUTE_MODELS))
    modelmodules.assign("networks", "access.router", "access.routerpeergroup")
    modelmodules.assign("setup_keys", "access.setupkey", "access.setupkeyautogroup")
    modelmodules.assign(
        "users", "access.userautogroup", "access.invite", "access.inviteautogroup"
    )


def _way_to_invite(request: HttpRequest) -> Iterator[Line]:
    if request.user.has_perm("access.add_invite"):
        yield Line("Invite a person", url=reverse("admin:access_invite_add"))


def policy_names(ids: Collection[str]) -> dict[str, str]:
    return dict(rows_with(Policy.objects.values_list("pk", "name"), {"pk": ids}))


def _register_references() -> None:
    """Tell the groups how access objects and account settings refer to them.

    Everything that only hands out memberships (keys, users, invites) just loses the group.
    Lists that restrict switch their object off when they become empty: an empty list of
    access control groups, for one, would open a route to everybody.
    """
    references.register(
        *(
            ListReference(
                model=link,
                kind="policy_rule",
                switch="enabled",
                named=lambda rule: f"{rule.policy.name} / {rule.name}",
                related=("policy",),
                turned_off=disable_policies_without_rules,
            )
            for link in (
                models.RuleSource,
                models.RuleDestination,
                models.RuleAuthorizedGroup,
            )
        ),
        *(
            ListReference(model=link, kind="route", switch="enabled")
            for link in (
                models.RouteGroup,
                models.RoutePeerGroup,
                models.RouteAccessControlGroup,
            )
        ),
        ListReference(
            model=models.RouterPeerGroup,
            kind="network_router",
            switch="enabled",
            named=lambda router: f"router of {router.network.name}",
            related=("network",),
        ),
        ListReference(model=models.UserAutoGroup, kind="user"),
        ListReference(model=models.InviteAutoGroup, kind="invite"),
        ListReference(model=models.SetupKeyAutoGroup, kind="setup_key"),
        *(
            JsonReference(
                model=Account,
                column=column,
                kind="account_setting",
                switch=switch,
                named=lambda account: "account settings",
            )
            for column, switch in (
                # An empty list means the traffic of every peer.
                ("network_traffic_logs_groups", "network_traffic_logs_enabled"),
                ("peer_expose_groups", "peer_expose_enabled"),
                # Empty it gives nobody an address, so there is nothing to switch off.
                ("ipv6_enabled_groups", ""),
            )
        ),
    )
