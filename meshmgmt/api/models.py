"""What the API remembers of requests for a while."""

from django.db import models

from meshmgmt.core import clock


class KeptAnswer(models.Model):
    """What a write with an `Idempotency-Key` was answered; deleted after a day.

    `user_id` is empty where no credentials are needed. `request` tells whether it comes
    again, `sealed` can be read with it alone: answers may show secrets this once.
    """

    user_id = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    request = models.CharField(max_length=64)
    sealed = models.BinaryField()
    at = models.DateTimeField(default=clock.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "key"], name="kept_answer_user_key"
            )
        ]

    def __str__(self) -> str:
        return f"answer to {self.key!r}"


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
