"""Groups, what is in them, and the base of every list of groups."""

from collections import Counter
from typing import Any, ClassVar, Final

from django.db import models, router
from django.db.models.deletion import Collector

from events.audit.audited import AuditedModel, AuditedQuerySet
from groups.references import unlink_group
from meshmgmt.core import clock
from meshmgmt.core.ids import ID_LENGTH
from meshmgmt.core.orderedlinks import OrderedLink, listed_once
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

    class Meta(AuditedModel.Meta):
        # For names of any origin: the index of the constraint holds those of the API.
        indexes = [models.Index(fields=["name"], name="group_name")]
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=models.Q(issued=Issued.API),
                name="group_name_unique",
            )
        ]

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


class GroupPeer(OrderedLink):
    owner_field = "group"
    member_fields = ("peer_id",)
    relation = "peers"

    group = models.ForeignKey(
        Group, on_delete=models.PROTECT, related_name="peer_links"
    )
    peer = models.ForeignKey(
        "inventory.Peer", on_delete=models.CASCADE, related_name="group_links"
    )

    class Meta(OrderedLink.Meta):
        verbose_name = "peer of a group"
        verbose_name_plural = "peers of groups"
        constraints = listed_once("group_peer_unique", "group", "peer")


class GroupResource(OrderedLink):
    """A resource in a group, kept as it was given: nothing says that it exists."""

    owner_field = "group"
    member_fields = ("resource_id", "resource_type")
    relation = "resources"

    group = models.ForeignKey(
        Group, on_delete=models.PROTECT, related_name="resource_links"
    )
    # Looked up without a group, to tell which groups a resource is in.
    resource_id = models.CharField(max_length=255, db_index=True)
    resource_type = models.CharField(max_length=ID_LENGTH)

    class Meta(OrderedLink.Meta):
        verbose_name = "resource of a group"
        verbose_name_plural = "resources of groups"
        constraints = listed_once(
            "group_resource_unique", "group", "resource_id", "resource_type"
        )


class GroupLink(OrderedLink):
    """An entry of a list of groups that some object has.

    The foreign key protects: a group goes only by `Group.delete()`, which asks the
    registry `groups.references` to empty the lists first.
    """

    member_fields: ClassVar[tuple[str, ...]] = ("group_id",)

    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="+")

    class Meta(OrderedLink.Meta):
        abstract = True
