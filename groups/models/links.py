"""The base of every ordered list of groups."""

from typing import ClassVar

from django.db import models

from meshmgmt.core.orderedlinks import OrderedLink


class GroupLink(OrderedLink):
    """An entry of a list of groups that some object has.

    The foreign key protects: a group goes only by `Group.delete()`, which asks the
    registry `groups.references` to empty the lists first.
    """

    member_fields: ClassVar[tuple[str, ...]] = ("group_id",)

    group = models.ForeignKey(
        "groups.Group", on_delete=models.PROTECT, related_name="+"
    )

    class Meta(OrderedLink.Meta):
        abstract = True
