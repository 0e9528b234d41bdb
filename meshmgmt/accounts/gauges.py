"""Inventory gauges of users and tokens."""

from django.db.models import Q

from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.adminsite.filters import SOON
from meshmgmt.core import clock
from observability.metrics.counting import by_state
from observability.registries import InventoryRows, register_inventory


def register() -> None:
    register_inventory(
        "mesh_tokens",
        "Access tokens: valid for longer, expiring within 7 days, or expired.",
        ("state",),
        tokens_by_state,
    )
    register_inventory(
        "mesh_users", "Users, by state: each is in exactly one.", ("state",), users
    )


def tokens_by_state() -> InventoryRows:
    now = clock.now()
    return by_state(
        AccessToken.objects,
        valid=Q(expires_at__gt=now + SOON),
        expiring=Q(expires_at__gt=now, expires_at__lte=now + SOON),
        expired=Q(expires_at__lte=now),
    )


def users() -> InventoryRows:
    blocked, pending = Q(is_blocked=True), Q(pending_approval=True)
    return by_state(
        User.objects,
        blocked=blocked,
        pending=~blocked & pending,
        active=~blocked & ~pending,
    )
