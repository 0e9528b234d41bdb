"""Writes of nameserver groups and the DNS settings."""

from collections.abc import Sequence
from typing import Final

from dns.content import parse_nameserver_ip
from dns.models import SINGLE_ROW, DisabledManagementGroup, DnsSettings, NameserverGroup
from dns.rules.nameservers import nameserver_group_errors
from groups.selectors import known_groups
from meshmgmt.core.errors import FieldError, raise_field_errors
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.resources import Resource, Write
from meshmgmt.core.textrules import unknown_id_errors
from meshmgmt.core.transactions import account_write


class NameserverGroups(Resource[NameserverGroup]):
    """Nameserver groups; addresses are kept in canonical form."""

    model = NameserverGroup
    kind = "nameserver group"

    def errors(self, write: Write[NameserverGroup]) -> list[FieldError]:
        return nameserver_group_errors(
            write.values,
            known_groups=write.known("groups"),
            name_taken=write.is_taken("name"),
        )

    def complete(self, instance: NameserverGroup) -> None:
        instance.nameservers = [
            {
                "ip": parse_nameserver_ip(server["ip"]),
                "ns_type": server["ns_type"].lower(),
                "port": server["port"],
            }
            for server in instance.nameservers
        ]


nameserver_groups: Final = NameserverGroups()


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
