"""Admin pages of policies, routes, networks and enrolment."""

from meshmgmt.access.admin.enrolment import SetupKeyAdmin, UserAutoGroupAdmin
from meshmgmt.access.admin.invites import InviteAdmin
from meshmgmt.access.admin.networks import (
    NetworkAdmin,
    NetworkResourceAdmin,
    RouterAdmin,
)
from meshmgmt.access.admin.policies import PolicyAdmin
from meshmgmt.access.admin.posture import PostureCheckAdmin
from meshmgmt.access.admin.routes import RouteAdmin
from meshmgmt.access.admin.rules import PolicyRuleAdmin

__all__ = [
    "InviteAdmin",
    "NetworkAdmin",
    "NetworkResourceAdmin",
    "PolicyAdmin",
    "PolicyRuleAdmin",
    "PostureCheckAdmin",
    "RouteAdmin",
    "RouterAdmin",
    "SetupKeyAdmin",
    "UserAutoGroupAdmin",
]
