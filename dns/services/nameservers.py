"""Writes of nameserver groups."""

from typing import Final

from dns.content import parse_nameserver_ip
from dns.models import NameserverGroup
from dns.rules.nameservers import nameserver_group_errors
from meshmgmt.core.errors import FieldError
from meshmgmt.core.resources import Resource, Write


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
