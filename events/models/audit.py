"""The audit trail."""

from typing import Any, NoReturn

from django.db import models

from events.activities import Activity
from events.models.trailtext import TrailTextField
from meshmgmt.core import clock


class AppendOnlyQuerySet(models.QuerySet["AuditEvent"]):
    """Rows of the trail are written once; only retention removes them."""

    def update(self, **kwargs: Any) -> NoReturn:
        """Refuse: the trail does not change."""
        raise TypeError("audit events are never changed")

    def delete(self) -> NoReturn:
        """Refuse: only `prune` removes audit events."""
        raise TypeError("audit events are removed by retention alone")

    def prune(self) -> int:
        """Delete the selected rows (retention) and return how many there were."""
        return self._raw_delete(self.db)


class AuditEvent(models.Model):
    """One change: who did what to which object, and how it looked before and after.

    Initiator and target are copied by value, so the row outlives both.
    """

    timestamp = models.DateTimeField(default=clock.now)
    activity_code = models.CharField(max_length=80)
    initiator_id = models.CharField(max_length=64, blank=True)
    initiator_name = models.CharField(max_length=255, blank=True)
    initiator_email = models.CharField(max_length=320, blank=True)
    target_id = models.CharField(max_length=64, blank=True)
    target_type = models.CharField(max_length=64, blank=True)
    meta = models.JSONField(default=dict, blank=True)
    changes = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=32, blank=True)
    source_address = models.CharField(max_length=64, blank=True)
    token_id = models.CharField(max_length=32, blank=True)
    search = TrailTextField(default="", editable=False)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["timestamp"], name="audit_timestamp"),
            models.Index(fields=["activity_code", "id"], name="audit_activity"),
            models.Index(fields=["initiator_id", "id"], name="audit_initiator"),
            models.Index(fields=["target_id", "id"], name="audit_target"),
        ]
        default_permissions = ("view",)
        verbose_name = "audit event"

    def __str__(self) -> str:
        return f"{self.id} {self.activity_code} {self.target_id}"

    @property
    def activity(self) -> str:
        """The text for people that belongs to the code."""
        return str(Activity(self.activity_code).label)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: only retention removes audit events."""
        raise TypeError("audit events are removed by retention alone")
