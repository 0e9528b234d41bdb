"""DNS settings of the account."""

from typing import Final

from django.db import models

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core.orderedlinks import listed_once

SINGLE_ROW: Final = 1


class DnsSettings(AuditedModel):
    """The one row that owns the list of groups without DNS management.

    It is made with the tables; absent means an empty list.
    """

    id = models.PositiveSmallIntegerField(  # type: ignore[assignment]  # one row
        primary_key=True, default=SINGLE_ROW, editable=False
    )

    class Meta:
        verbose_name = "DNS settings"
        verbose_name_plural = "DNS settings"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(id=SINGLE_ROW), name="dns_settings_single_row"
            )
        ]

    def __str__(self) -> str:
        return "DNS settings"


class DisabledManagementGroup(GroupLink):
    """A group whose peers keep the DNS configuration of their systems."""

    owner_field = "settings"
    relation = "disabled_management_groups"

    settings = models.ForeignKey(
        DnsSettings, on_delete=models.CASCADE, related_name="group_links"
    )

    class Meta(GroupLink.Meta):
        constraints = listed_once("dns_settings_group", "settings", "group")
