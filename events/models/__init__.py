"""Models of the event streams."""

from events.models.audit import AuditEvent
from events.models.proof import AuditHead, AuditKey, AuditTile
from events.models.proxy import ProxyEntry, ProxyTally
from events.models.traffic import TrafficEvent, TrafficTally

__all__ = [
    "AuditEvent",
    "AuditHead",
    "AuditKey",
    "AuditTile",
    "ProxyEntry",
    "ProxyTally",
    "TrafficEvent",
    "TrafficTally",
]
