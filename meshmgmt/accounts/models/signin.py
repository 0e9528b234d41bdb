"""Wrong passwords, as far as the limits need to remember them."""

from django.db import models

from meshmgmt.core import clock


class WrongPassword(models.Model):
    """A password that was tried and was wrong; deleted when it counts no more.

    `account` is a keyed hash of whom it was tried for: people type passwords there, too.
    `address` is an IPv4 address or the first half of an IPv6 one.
    """

    account = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    at = models.DateTimeField(default=clock.now)

    class Meta:
        indexes = [
            models.Index(fields=["account", "at"], name="wrong_password_account"),
            models.Index(fields=["address", "at"], name="wrong_password_address"),
        ]

    def __str__(self) -> str:
        return f"wrong password from {self.address}"
