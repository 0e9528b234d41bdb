"""What maps of peers are followed by."""

from django.db import models


class MapChange(models.Model):
    """A write that some map may depend on; see `meshmgmt.control.changes`.

    `touched` is a JSON object of lists of ids, empty text for everything.
    """

    serial = models.BigIntegerField(primary_key=True)
    touched = models.TextField()

    def __str__(self) -> str:
        return str(self.serial)
