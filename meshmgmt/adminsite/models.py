"""Views of the admin site's lists that people keep."""

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    """How one person looks at a list (`app.model`): filters, columns and order.

    What a person prefers to see is no change of the account, so no event tells of it.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    list = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    query = models.TextField()
    is_default = models.BooleanField(default=False)

    class Meta:
        app_label = "api"  # where its table was made
        constraints = [
            models.UniqueConstraint(
                fields=["user", "list", "name"], name="saved_view_name"
            ),
            models.UniqueConstraint(
                fields=["user", "list"],
                condition=models.Q(is_default=True),
                name="saved_view_default",
            ),
        ]

    def __str__(self) -> str:
        return self.name
