"""The account: one row, the settings of the whole deployment."""

from typing import Final

from django.conf import settings
from django.db import models

from events.audit.audited import AuditedModel
from meshmgmt.core import clock

DAY: Final = 24 * 60 * 60
OVERLAY_RANGE: Final = "100.64.0.0/10"
"""Shared address space (RFC 6598), of which a new account draws a part."""


def default_dns_domain() -> str:
    return settings.SVC.dns_domain


def peers_domain(chosen: str, default: str) -> str:
    """Return the domain of the peers' names, from the columns of the account."""
    return chosen or default or default_dns_domain()


class Account(AuditedModel):
    """The one account (tenant) of this deployment, made when the database is set up.

    Periods are seconds. The `*_groups` lists hold group ids, `jwt_allow_groups` names.
    """

    # The same value in every row: the unique column keeps a second account out.
    only = models.BooleanField(default=True, unique=True, editable=False)
    dns_domain = models.CharField(
        max_length=255, default=default_dns_domain, blank=True
    )
    default_dns_domain = models.CharField(
        max_length=255, default="", db_default="", blank=True, editable=False
    )
    """Used while `dns_domain` is empty; itself empty: `SVC_DNS_DOMAIN`."""
    domain = models.CharField(max_length=255, blank=True)
    domain_category = models.CharField(max_length=20, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    created_by = models.CharField(max_length=64, blank=True, editable=False)
    first_steps_dismissed = models.BooleanField(
        default=False, db_default=False, editable=False
    )

    peer_login_expiration_enabled = models.BooleanField(default=True)
    peer_login_expiration = models.PositiveIntegerField(default=DAY)
    peer_inactivity_expiration_enabled = models.BooleanField(default=False)
    peer_inactivity_expiration = models.PositiveIntegerField(default=600)
    peer_approval_enabled = models.BooleanField(default=False)
    user_approval_required = models.BooleanField(default=True)
    regular_users_view_blocked = models.BooleanField(default=True)
    groups_propagation_enabled = models.BooleanField(default=True)
    jwt_groups_enabled = models.BooleanField(default=False)
    jwt_groups_claim_name = models.CharField(max_length=255, blank=True)
    jwt_allow_groups = models.JSONField(default=list, blank=True)
    routing_peer_dns_resolution_enabled = models.BooleanField(default=True)
    network_range = models.CharField(max_length=50, default=OVERLAY_RANGE)
    network_range_v6 = models.CharField(max_length=50, blank=True)
    ipv6_enabled_groups = models.JSONField(default=list, blank=True)
    peer_expose_enabled = models.BooleanField(default=False)
    peer_expose_groups = models.JSONField(default=list, blank=True)
    lazy_connection_enabled = models.BooleanField(default=True)
    auto_update_version = models.CharField(max_length=50, default="disabled")
    auto_update_always = models.BooleanField(default=False)
    metrics_push_enabled = models.BooleanField(default=False)
    local_auth_disabled = models.BooleanField(default=False)
    local_mfa_enabled = models.BooleanField(default=False)
    network_traffic_logs_enabled = models.BooleanField(default=True)
    network_traffic_logs_groups = models.JSONField(default=list, blank=True)
    network_traffic_packet_counter_enabled = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(only=True), name="account_is_the_only_one"
            )
        ]

    @property
    def peers_domain(self) -> str:
        """The domain that the peers' own names are in."""
        return peers_domain(self.dns_domain, self.default_dns_domain)

    def __str__(self) -> str:
        return f"account {self.id}"
