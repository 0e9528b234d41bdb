"""The page of the DNS settings."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dns.models import DisabledManagementGroup, DnsSettings
from dns.services.settings import dns_settings_update
from meshmgmt.api.admin import ServiceAdmin, ServiceForm
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
class DnsSettingsAdmin(ServiceAdmin):
    """The one row of settings: it can be changed, neither made nor deleted."""

    form = DnsSettingsForm
    list_display = ["__str__", "groups_count"]

    @admin.display(description="groups without DNS management")
    def groups_count(self, settings: DnsSettings) -> int:
        """How many groups have DNS management disabled."""
        return len(member_keys(DisabledManagementGroup, settings))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: there is one row."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: the row stays."""
        return False
