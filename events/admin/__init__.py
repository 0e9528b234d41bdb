"""Read-only explorers of the event streams in the admin site."""

from events.admin.audit import AuditEventAdmin
from events.admin.proxy import ProxyEntryAdmin
from events.admin.traffic import TrafficEventAdmin

__all__ = ["AuditEventAdmin", "ProxyEntryAdmin", "TrafficEventAdmin"]
