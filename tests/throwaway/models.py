from django.db import models

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core.orderedlinks import listed_once


class Thing(AuditedModel):
    """What nobody needs."""

    name = models.CharField(max_length=40)
    enabled = models.BooleanField(default=True)
    notes = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return self.name


class ThingGroup(GroupLink):
    """A group that has a thing."""

    owner_field = "thing"
    relation = "groups"

    thing = models.ForeignKey(Thing, models.CASCADE, related_name="group_links")

    class Meta(GroupLink.Meta):
        constraints = listed_once("throwaway_thing_group", "thing", "group")
