"""Models of the event streams."""

from events.models.audit import AuditEvent
from events.models.proof import AuditHead, AuditKey, AuditTile
from events.models.proxy import ProxyEntry, ProxyTally
from events.models.rollups import (
    ProxyRollUp,
    RollUp,
    RollUpGap,
    RollUpMark,
    TrafficRollUp,
)
from events.models.traffic import TrafficEvent, TrafficTally

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
