"""The page of the DNS settings."""

from typing import Any

from django.contrib import admin

from dns.models import DisabledManagementGroup, DnsSettings
from dns.services.settings import dns_settings_update
from meshmgmt.api.admin import ServiceAdmin, ServiceForm, counted, refused
from meshmgmt.api.adminfields import OrderedListField


class DnsSettingsForm(ServiceForm):
    disabled_management_groups = OrderedListField(
        DisabledManagementGroup._meta.get_field("group"),
        help_text="Peers in these groups keep the DNS configuration of their systems.",
    )

    class Meta:
        model = DnsSettings
        fields = ["disabled_management_groups"]

    lists = {"disabled_management_groups": DisabledManagementGroup}

    def apply(self, data: dict[str, Any]) -> DnsSettings:
        return dns_settings_update(**data)


@admin.register(DnsSettings)
class DnsSettingsAdmin(ServiceAdmin):
    """The one row of settings: it can be changed, neither made nor deleted."""

    form = DnsSettingsForm
    list_display = ["__str__", counted("group_links", "groups without DNS management")]

    has_add_permission = has_delete_permission = refused
