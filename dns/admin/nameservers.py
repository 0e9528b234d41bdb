"""Pages of nameserver groups and of the DNS settings."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import admin

from dns.models import (
    DisabledManagementGroup,
    DnsSettings,
    NameserverGroup,
    NameserverGroupGroup,
)
from dns.rules.nameservers import Server
from dns.services.nameservers import dns_settings_update, nameserver_groups
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import LinesField, OrderedListField
from meshmgmt.adminsite.look import enabled
from meshmgmt.adminsite.pages import OneRowAdmin, ServiceAdmin, ServiceForm, number_of

DNS_PORT: Final = 53


class NameserversField(LinesField):
    """Up to three servers, one per line: address and, if it is not 53, port."""

    def shown(self, item: Server) -> str:
        return _server_text(item)

    def read(self, line: str) -> Server:
        """Return a server; the rules judge its address and port."""
        ip, _, port = line.partition(" ")
        try:
            return {"ip": ip, "ns_type": "udp", "port": int(port or DNS_PORT)}
        except ValueError as error:
            raise forms.ValidationError(
                f"{line!r}: write an address and, after a blank, a port number"
            ) from error


def _server_text(server: Mapping[str, Any]) -> str:
    ip, port = server["ip"], server["port"]
    return str(ip) if port == DNS_PORT else f"{ip} {port}"


class NameserverGroupForm(ServiceForm):
    resource = nameserver_groups

    nameservers = NameserversField(
        help_text="1 to 3 DNS servers, one per line: an address and, after a blank, the"
        " port when it is not 53."
    )
    domains = LinesField(
        label="Match domains", help_text="One per line; none for a primary group."
    )
    groups = OrderedListField(
        NameserverGroupGroup._meta.get_field("group"),
        help_text="Peers in these groups use the servers.",
    )


@admin.register(NameserverGroup)
class NameserverGroupAdmin(ServiceAdmin):
    """Which DNS servers peers use."""

    form = NameserverGroupForm
    list_display = [
        *("name", enabled, "primary", "match_domains", "search_domains_enabled"),
        *("servers", number_of("group_links", "groups"), "created_at"),
    ]
    list_filter = ["enabled", "primary", "search_domains_enabled"]
    search_fields = ["name", "description", "domains", "nameservers", "=id"]
    readonly_fields = ["id", "created_at"]
    bulk = SWITCH

    @admin.display(description="match domains")
    def match_domains(self, group: NameserverGroup) -> str:
        return ", ".join(group.domains)

    @admin.display(description="servers")
    def servers(self, group: NameserverGroup) -> str:
        return ", ".join(_server_text(server) for server in group.nameservers)


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
