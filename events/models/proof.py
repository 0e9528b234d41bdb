"""What proves the audit trail: its tree, the keys that sign it, the signed heads."""

from django.db import models

from meshmgmt.core import clock


class AuditTile(models.Model):
    """Up to 256 hashes of one level of the tree, side by side (`events/proof/merkle.py`).

    At level 0 also the ids of the events, in 8 bytes each: retention removes events, but
    neither their hashes nor their ids.
    """

    level = models.SmallIntegerField()
    number = models.BigIntegerField()
    hashes = models.BinaryField()
    event_ids = models.BinaryField(default=bytes)
    first_event_id = models.BigIntegerField(null=True, db_index=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["level", "number"], name="audit_tile_place")
        ]

    def __str__(self) -> str:
        return f"{self.level}/{self.number}"


class AuditKey(models.Model):
    """An Ed25519 key pair; its private half is sealed under the secret key."""

    id = models.CharField(max_length=16, primary_key=True)
    public_key = models.BinaryField()
    sealed = models.BinaryField()
    valid_from = models.DateTimeField(default=clock.now)
    valid_until = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.id


class AuditHead(models.Model):
    """The root of the tree at one size and time, signed."""

    tree_size = models.BigIntegerField()
    root_hash = models.BinaryField()
    timestamp = models.DateTimeField()
    key = models.ForeignKey(AuditKey, on_delete=models.PROTECT)
    signature = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.tree_size} at {self.timestamp}"
