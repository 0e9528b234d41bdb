"""The page of the DNS settings."""

from typing import Any

from django.contrib import admin

from dns.models import DisabledManagementGroup, DnsSettings
from dns.services.settings import dns_settings_update
from meshmgmt.api.admin import OneRowAdmin, ServiceForm
from meshmgmt.api.adminfields import OrderedListField
from meshmgmt.core.orderedlinks import member_keys


class DnsSettingsForm(ServiceForm):
    """The settings."""

    disabled_management_groups = OrderedListField(
        DisabledManagementGroup._meta.get_field("group"),
        help_text="Peers in these groups keep the DNS configuration of their systems.",
    )

    class Meta:
        model = DnsSettings
        fields = ["disabled_management_groups"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        groups = member_keys(DisabledManagementGroup, self.instance)
        self.initial.setdefault("disabled_management_groups", groups)

    def apply(self, data: dict[str, Any]) -> DnsSettings:
        """Replace the settings."""
        return dns_settings_update(**data)


@admin.register(DnsSettings)
class DnsSettingsAdmin(OneRowAdmin):
    """The settings."""

    form = DnsSettingsForm
