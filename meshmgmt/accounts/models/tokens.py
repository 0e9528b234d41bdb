"""Access tokens as stored: everything but the token itself."""

from typing import Any

from django.db import models

from events.audit.audited import AuditedModel
from meshmgmt.accounts.models.users import User
from meshmgmt.accounts.tokens import HASH_LENGTH
from meshmgmt.core import clock


class AccessToken(AuditedModel):
    """A credential for the API; acts as its user until it expires or is revoked.

    `plain` is the token itself, of one just made.
    """

    plain = ""

    class Scope(models.TextChoices):
        """What a token is good for; the empty scope is all that the role allows."""

        FULL = "", "everything the user may do"
        INGEST = "ingest", "the ingest of events alone"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=255)
    hash = models.CharField(max_length=HASH_LENGTH, unique=True, editable=False)
    scope = models.CharField(
        max_length=20, choices=Scope.choices, default=Scope.FULL, blank=True
    )
    created_by = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()
    last_used = models.DateTimeField(null=True, blank=True, editable=False)

    account_state: tuple[Any, ...] | None = None
    """The newest event when the token was looked up by its secret, if it was."""

    class Meta:
        ordering = ["id"]
        verbose_name = "access token"

    def __str__(self) -> str:
        return self.name
