"""Tokens of reverse proxies."""

from django.db import models

from events.audit.audited import AuditedModel
from meshmgmt.accounts.tokens import HASH_LENGTH
from meshmgmt.core import clock


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

    class Meta:
        ordering = ["id"]
        verbose_name = "proxy token"

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"
