"""Models of the event streams."""

from events.models.audit import AuditEvent, AuditHead, AuditKey, AuditTile
from events.models.streams import (
    ProxyEntry,
    ProxyRollUp,
    ProxyTally,
    RollUp,
    RollUpGap,
    RollUpMark,
    TrafficEvent,
    TrafficRollUp,
    TrafficTally,
)

__all__ = [
    "AuditEvent",
    "AuditHead",
    "AuditKey",
    "AuditTile",
    "ProxyEntry",
    "ProxyRollUp",
    "ProxyTally",
    "RollUp",
    "RollUpGap",
    "RollUpMark",
    "TrafficEvent",
    "TrafficRollUp",
    "TrafficTally",
]
