"""The page of the DNS settings."""

from typing import Any

from django.contrib import admin

from dns.models import DisabledManagementGroup, DnsSettings
from dns.services.settings import dns_settings_update
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.pages import OneRowAdmin, ServiceForm


class DnsSettingsForm(ServiceForm):
    disabled_management_groups = OrderedListField(
        DisabledManagementGroup._meta.get_field("group"),
        help_text="Peers in these groups keep the DNS configuration of their systems.",
    )

    class Meta:
        model = DnsSettings
        fields = ["disabled_management_groups"]

    def apply(self, data: dict[str, Any]) -> DnsSettings:
        return dns_settings_update(**data)


@admin.register(DnsSettings)
class DnsSettingsAdmin(OneRowAdmin):
    """The settings."""

    form = DnsSettingsForm
