"""The base of tables that the service keeps for itself."""

from django.db import models


class Unseen(models.Model):
    """A row that no page shows, so that nobody is given a right to see it."""

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.pk)
