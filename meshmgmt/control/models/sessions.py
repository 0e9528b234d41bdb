"""Short-lived facts about peers' sessions; none of them is audited."""

from django.db import models

from meshmgmt.core import clock
from meshmgmt.core.ids import ID_LENGTH, new_id


class SpentToken(models.Model):
    """A token of the identity provider that signed somebody in on a peer.

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
