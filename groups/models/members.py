"""What is in a group, and the base of every list of groups."""

from typing import ClassVar

from django.db import models

from groups.models.groups import Group
from meshmgmt.core.ids import ID_LENGTH
from meshmgmt.core.orderedlinks import OrderedLink, listed_once


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
