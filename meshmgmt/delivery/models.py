"""Subscriptions to event streams, how far each has come, and what was refused for good."""

from django.db import models

from events.audit.audited import AuditedModel
from meshmgmt.core import clock
from meshmgmt.delivery.rules import MAX_EVENTS


class Subscription(AuditedModel):
    """Who gets the events of a stream, and how far the sending has come.

    Events after `cursor` are still to be sent; a replay comes before them. `batch_limit`
    is how many are tried at once; `revision` grows with each change of the state, so that
    a sender that was overtaken writes nothing.
    """

    name = models.CharField(max_length=255)
    stream = models.CharField(
        max_length=32,
        choices=[(name, name) for name in ("audit", "network-traffic", "proxy")],
    )
    filters = models.JSONField(default=dict, blank=True)
    target = models.JSONField()
    enabled = models.BooleanField(default=True)
    sealed_secret = models.BinaryField(default=b"", editable=False)
    secret_made = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    cursor = models.BigIntegerField(default=0)
    batch_limit = models.IntegerField(default=MAX_EVENTS)
    revision = models.IntegerField(default=0)
    failures = models.IntegerField("failures in a row", default=0)
    next_attempt = models.DateTimeField(null=True)
    last_success = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)
    replay_from = models.DateTimeField(null=True)
    replay_until = models.DateTimeField(null=True)
    replay_after = models.JSONField(null=True)
    test_asked = models.DateTimeField(null=True)
    test_result = models.TextField(blank=True)

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["name"], name="subscription_name_unique")
        ]


CONFIGURED = ("name", "stream", "target", "filters", "enabled")
"""Columns that clients set."""


class DeadLetter(models.Model):
    """An event that its receiver refused for good."""

    subscription = models.ForeignKey(Subscription, models.CASCADE)
    event_id = models.TextField()
    event_time = models.DateTimeField()
    error = models.TextField()
    created_at = models.DateTimeField(default=clock.now, db_index=True)

    class Meta:
        ordering = ["-id"]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.subscription_id} {self.event_id}"
