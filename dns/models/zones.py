"""Custom zones, their records and the peer groups they are distributed to.

Names and content are kept as the client sent them; the `canonical_*` columns hold the form
that is compared, so that rules and unique constraints see through spelling.
"""

from django.db import models
from django.db.models import Q

from dns.content import MAX_STORED, RECORD_TYPES
from dns.rules.records import MAX_TTL
from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core import clock
from meshmgmt.core.names import MAX_TEXT
from meshmgmt.core.orderedlinks import listed_once


class Zone(AuditedModel):
    """A zone answered on the peers themselves."""

    name = models.CharField(max_length=255)
    domain = models.CharField(max_length=MAX_TEXT)
    canonical_domain = models.CharField(max_length=MAX_STORED, editable=False)
    enabled = models.BooleanField(default=True)
    enable_search_domain = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["canonical_domain"], name="dns_zone_domain")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.domain})"


class ZoneGroup(GroupLink):
    """A peer group that gets a zone."""

    owner_field = "zone"
    relation = "distribution_groups"

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="group_links")

    class Meta(GroupLink.Meta):
        constraints = listed_once("dns_zone_group", "zone", "group")


class Record(AuditedModel):
    """An A, AAAA or CNAME record of a zone; `ttl` in seconds.

    That a CNAME has no record of another type beside it is guarded on PostgreSQL by the
    exclusion constraint `dns_record_cname_alone` (in the migration, for Django cannot
    leave it out on SQLite, where the account write lock alone stands for it).
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="records")
    name = models.CharField(max_length=MAX_TEXT)
    type = models.CharField(max_length=5, choices=[(x, x) for x in RECORD_TYPES])
    content = models.CharField(max_length=MAX_TEXT)
    ttl = models.PositiveIntegerField(default=300)
    canonical_name = models.CharField(max_length=MAX_STORED, editable=False)
    canonical_content = models.CharField(max_length=MAX_STORED, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["zone", "canonical_name", "type", "canonical_content"],
                name="dns_record_identical",
            ),
            models.UniqueConstraint(
                fields=["zone", "canonical_name"],
                condition=Q(type="CNAME"),
                name="dns_record_one_cname",
            ),
            models.CheckConstraint(
                condition=Q(ttl__gte=0, ttl__lte=MAX_TTL), name="dns_record_ttl"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.type} {self.content}"
