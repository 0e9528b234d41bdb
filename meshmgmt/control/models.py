"""What the peer protocol stores; none of it is audited but tokens of proxies."""

from django.db import models

from events.audit.audited import AuditedModel
from meshmgmt.accounts.tokens import HASH_LENGTH
from meshmgmt.core import clock
from meshmgmt.core.ids import ID_LENGTH, new_id
from meshmgmt.inventory.models import Peer


class SpentToken(models.Model):
    """A token of the identity provider that signed somebody in on a peer, or a Logout.

    It does so once; what is kept is its SHA-256 until it expires.
    """

    hash = models.CharField(primary_key=True, max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.hash[:8]


class StreamProcess(models.Model):
    """A process that holds streams of peers; it says every few seconds that it lives."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=new_id)
    started_at = models.DateTimeField(default=clock.now)
    seen_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return self.id


class MapChange(models.Model):
    """A write that some map may depend on; see `meshmgmt.control.changes`.

    `touched` is a JSON object of lists of ids, empty text for everything.
    """

    serial = models.BigIntegerField(primary_key=True)
    touched = models.TextField()

    def __str__(self) -> str:
        return str(self.serial)


class ProxyToken(AuditedModel):
    """A credential with which a reverse proxy sends its access logs.

    No `expires_at` means for ever. Revoking deletes it. `plain` is the token itself, of one
    just made.
    """

    plain = ""

    name = models.CharField(max_length=255)
    hash = models.CharField(max_length=HASH_LENGTH, unique=True, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta(AuditedModel.Meta):
        verbose_name = "proxy token"

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


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
