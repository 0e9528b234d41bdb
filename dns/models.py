"""What the service stores about DNS: nameserver groups, settings, zones and records.

Names and content are kept as the client sent them; the `canonical_*` columns hold the form
that is compared, so that rules and unique constraints see through spelling.
"""

from typing import Final

from django.db import models
from django.db.models import Q

from dns.content import MAX_STORED, RECORD_TYPES
from dns.rules.nameservers import MAX_NAME
from dns.rules.zones import MAX_TTL
from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core import clock
from meshmgmt.core.names import MAX_TEXT
from meshmgmt.core.orderedlinks import listed_once, owner_key


class NameserverGroup(AuditedModel):
    """DNS servers for all names (primary) or for the names below some domains.

    `nameservers` is a list of `{"ip", "ns_type", "port"}`, `domains` a list of names as
    the client sent them. Both are one value: no other object refers to their parts.
    """

    name = models.CharField(max_length=MAX_NAME)
    description = models.TextField(blank=True, default="")
    nameservers = models.JSONField(default=list)
    enabled = models.BooleanField(default=True)
    primary = models.BooleanField(default=False)
    domains = models.JSONField(default=list, blank=True)
    search_domains_enabled = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["name"], name="dns_nameservergroup_name")
        ]


class NameserverGroupGroup(GroupLink):
    """A peer group that uses the servers of a nameserver group."""

    owner_field = "nameserver_group"
    relation = "groups"

    nameserver_group = owner_key(NameserverGroup, "group_links")

    class Meta(GroupLink.Meta):
        constraints = listed_once(
            "dns_nameservergroup_group", "nameserver_group", "group"
        )


SINGLE_ROW: Final = 1


class DnsSettings(AuditedModel):
    """The one row that owns the list of groups without DNS management.

    It is made with the tables; absent means an empty list.
    """

    id = models.PositiveSmallIntegerField(  # type: ignore[assignment]  # one row
        primary_key=True, default=SINGLE_ROW, editable=False
    )

    class Meta:
        verbose_name = "DNS settings"
        verbose_name_plural = "DNS settings"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(id=SINGLE_ROW), name="dns_settings_single_row"
            )
        ]

    def __str__(self) -> str:
        return "DNS settings"


class DisabledManagementGroup(GroupLink):
    """A group whose peers keep the DNS configuration of their systems."""

    owner_field = "settings"
    relation = "disabled_management_groups"

    settings = owner_key(DnsSettings, "group_links")

    class Meta(GroupLink.Meta):
        constraints = listed_once("dns_settings_group", "settings", "group")


class Zone(AuditedModel):
    """A zone answered on the peers themselves."""

    name = models.CharField(max_length=255)
    domain = models.CharField(max_length=MAX_TEXT)
    canonical_domain = models.CharField(max_length=MAX_STORED, editable=False)
    enabled = models.BooleanField(default=True)
    enable_search_domain = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["canonical_domain"], name="dns_zone_domain")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.domain})"


class ZoneGroup(GroupLink):
    """A peer group that gets a zone."""

    owner_field = "zone"
    relation = "distribution_groups"

    zone = owner_key(Zone, "group_links")

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

    class Meta(AuditedModel.Meta):
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
