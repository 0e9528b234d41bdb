"""What the service stores about DNS."""

from dns.models.nameservers import NameserverGroup, NameserverGroupGroup
from dns.models.settings import DisabledManagementGroup, DnsSettings
from dns.models.zones import Record, Zone, ZoneGroup

__all__ = [
    "DisabledManagementGroup",
    "DnsSettings",
    "NameserverGroup",
    "NameserverGroupGroup",
    "Record",
    "Zone",
    "ZoneGroup",
]
