"""Models of access: what refers to groups."""

from meshmgmt.access.models.enrolment import (
    Invite,
    InviteAutoGroup,
    KeyType,
    SetupKey,
    SetupKeyAutoGroup,
    UserAutoGroup,
)
from meshmgmt.access.models.networks import (
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
)
from meshmgmt.access.models.policies import (
    Action,
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    PostureCheck,
    Protocol,
    RuleAuthorizedGroup,
    RuleDestination,
    RuleSource,
)

__all__ = [
    "Action",
    "Invite",
    "InviteAutoGroup",
    "KeyType",
    "Policy",
    "PolicyPostureCheck",
    "PolicyRule",
    "PostureCheck",
    "Protocol",
    "Route",
    "RouteAccessControlGroup",
    "RouteGroup",
    "RoutePeerGroup",
    "Router",
    "RouterPeerGroup",
    "RuleAuthorizedGroup",
    "RuleDestination",
    "RuleSource",
    "SetupKey",
    "SetupKeyAutoGroup",
    "UserAutoGroup",
]
