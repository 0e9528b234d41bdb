"""Models of the event streams."""

from events.models.audit import AuditEvent

__all__ = ["AuditEvent"]
