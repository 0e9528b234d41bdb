"""Admin pages of DNS."""

from dns.admin.nameservers import NameserverGroupAdmin
from dns.admin.settings import DnsSettingsAdmin
from dns.admin.zones import RecordAdmin, ZoneAdmin

__all__ = ["DnsSettingsAdmin", "NameserverGroupAdmin", "RecordAdmin", "ZoneAdmin"]
