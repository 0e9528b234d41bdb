"""Sentences of constraints, and what lower rooms learn from access objects."""

from meshmgmt.access.autogroups import (
    auto_groups_of_users,
    errors_of_auto_groups,
    forget_auto_groups,
    set_auto_groups,
)
from meshmgmt.access.jwtgroups import set_jwt_groups
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.accounts.registries import (
    register_auto_group_column,
    register_auto_group_writes,
    register_auto_groups,
    register_jwt_groups,
    register_user_deletion,
)
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules

_SENTENCES = {
    "posture_check_name_unique": "a posture check with this name exists already",
    "access_posturecheck.name": "a posture check with this name exists already",
}

_ROUTE_MODELS = (
    "route",
    "routegroup",
    "routepeergroup",
    "routeaccesscontrolgroup",
)


def register() -> None:
    """Register both."""
    for name, sentence in _SENTENCES.items():
        register_constraint(name, sentence)
    register_auto_groups(auto_groups_of_users)
    register_user_deletion(forget_auto_groups)
    register_jwt_groups(set_jwt_groups)
    register_auto_group_writes(errors_of_auto_groups, set_auto_groups)
    register_auto_group_column(UserAutoGroup._meta.get_field("group"))
    modelmodules.assign("policies", "access")
    modelmodules.assign("routes", *(f"access.{name}" for name in _ROUTE_MODELS))
    modelmodules.assign("networks", "access.router", "access.routerpeergroup")
    modelmodules.assign("setup_keys", "access.setupkey", "access.setupkeyautogroup")
    modelmodules.assign(
        "users", "access.userautogroup", "access.invite", "access.inviteautogroup"
    )
