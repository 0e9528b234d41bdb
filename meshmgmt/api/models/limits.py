"""Requests of late, as far as their limits need to remember them."""

from django.db import models


class UsedPermits(models.Model):
    """How many requests a token, user or address was permitted of late.

    `used` holds a count for each period of the window, as `{period: count}`; the row
    means nothing after `until`.
    """

    key = models.CharField(primary_key=True, max_length=80)
    used = models.JSONField(default=dict)
    until = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "used permits"

    def __str__(self) -> str:
        return f"permits of {self.key}"
