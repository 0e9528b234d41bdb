"""Writes of the DNS settings."""

from collections.abc import Sequence

from dns.models import DisabledManagementGroup, DnsSettings
from dns.models.settings import SINGLE_ROW
from groups.selectors import known_groups
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.textrules import unknown_id_errors
from meshmgmt.core.transactions import account_write


def dns_settings_update(*, disabled_management_groups: Sequence[str]) -> DnsSettings:
    """Replace the groups without DNS management. Raises InvalidArgument."""
    with account_write():
        raise_field_errors(
            unknown_id_errors(
                "disabled_management_groups",
                disabled_management_groups,
                known_groups(disabled_management_groups),
                kind="group",
            )
        )
        settings, _ = DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
        set_members(DisabledManagementGroup, settings, disabled_management_groups)
        return settings
