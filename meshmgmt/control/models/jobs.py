"""What peers are asked to do."""

from django.db import models

from meshmgmt.core import clock
from meshmgmt.core.ids import ID_LENGTH, new_id
from meshmgmt.inventory.models import Peer


class JobStatus(models.TextChoices):
    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class PeerJob(models.Model):
    """A debug bundle that a peer was asked for; one at a time.

    `parameters` are `log_file_count`, `anonymize`, perhaps `anonymize_level`, and whether
    (`bundle_for`) and for how many minutes (`bundle_for_time`) the peer waits first.
    `sent_at` is when a process took it to the peer. Asking is audited, what the peer does
    is not.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=new_id)
    peer = models.ForeignKey(Peer, on_delete=models.CASCADE, related_name="jobs")
    triggered_by = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=clock.now)
    sent_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    status = models.CharField(
        max_length=16, choices=JobStatus.choices, default=JobStatus.PENDING
    )
    failed_reason = models.TextField(blank=True)
    parameters = models.JSONField()
    upload_key = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["status", "created_at"], name="job_status")]
        constraints = [
            # Two who ask at once both see none that waits.
            models.UniqueConstraint(
                fields=["peer"],
                condition=models.Q(status="pending"),
                name="job_one_pending_per_peer",
            )
        ]

    def __str__(self) -> str:
        return f"bundle {self.id}"
