"""Which object of ours an object of another service became."""

from django.db import models

from meshmgmt.core.ids import ID_LENGTH


class Copied(models.Model):
    """One object that was copied; kept so that the next run finds it again.

    No configuration, hence without audit events: those of the copies are enough.
    """

    source = models.CharField(max_length=255)  # id of the account at the other service
    kind = models.CharField(max_length=32)
    old_id = models.CharField(max_length=255)
    new_id = models.CharField(max_length=max(ID_LENGTH, 64))  # a setting has its name

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["source", "kind", "old_id"], name="moved_in_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.old_id}"
