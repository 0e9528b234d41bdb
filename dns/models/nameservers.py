"""Nameserver groups and the peer groups that use them."""

from django.db import models

from dns.rules.nameservers import MAX_NAME
from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import listed_once


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

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["name"], name="dns_nameservergroup_name")
        ]

    def __str__(self) -> str:
        return self.name


class NameserverGroupGroup(GroupLink):
    """A peer group that uses the servers of a nameserver group."""

    owner_field = "nameserver_group"
    relation = "groups"

    nameserver_group = models.ForeignKey(
        NameserverGroup, on_delete=models.CASCADE, related_name="group_links"
    )

    class Meta(GroupLink.Meta):
        constraints = listed_once(
            "dns_nameservergroup_group", "nameserver_group", "group"
        )
