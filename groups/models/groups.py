"""Groups: what policies, routes and DNS refer to."""

from collections import Counter
from typing import Any, Final

from django.db import models, router
from django.db.models.deletion import Collector

from events.audit.audited import AuditedModel, AuditedQuerySet
from groups.references import unlink_group
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write

ALL: Final = "All"
"""Name of the reserved group that every peer is in by itself."""


class Issued(models.TextChoices):
    """Where a group comes from (seed, Group origins)."""

    API = "api", "API"
    INTEGRATION = "integration", "integration"
    JWT = "jwt", "JWT"


class GroupQuerySet(AuditedQuerySet["Group"]):
    """Deletes groups together with every reference to them."""

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the groups one by one, in one write."""
        deleted: Counter[str] = Counter()
        with account_write():
            # One by one: what refers to a group is to be let go before it goes.
            for group in self.order_by("id"):
                deleted.update(group.delete()[1])
        return deleted.total(), dict(deleted)

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]


class Group(AuditedModel):
    """A named list of peers and resources.

    Names are unique among the groups made through the API; those of an identity provider
    or of claims may repeat. The group `All` has no rows of peers: everybody is in it.
    """

    name = models.CharField(max_length=255)
    issued = models.CharField(
        max_length=11, choices=Issued.choices, default=Issued.API, editable=False
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    objects = GroupQuerySet.as_manager()  # type: ignore[misc]  # narrows the base's

    class Meta:
        ordering = ["id"]
        # For names of any origin: the index of the constraint holds those of the API.
        indexes = [models.Index(fields=["name"], name="group_name")]
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=models.Q(issued=Issued.API),
                name="group_name_unique",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_all(self) -> bool:
        """Whether this is the reserved group of all peers."""
        return self.issued == Issued.API and self.name == ALL

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Take the group out of everything that refers to it, then delete it.

        All of it is one write; each touched object gets its own event with the reason.
        """
        with account_write():
            unlink_group(self)
            # Nothing refers to it any more; Django would ask each relation once more.
            collector = Collector(router.db_for_write(Group, instance=self), self)
            collector.collect([self], collect_related=False)
            return collector.delete()
