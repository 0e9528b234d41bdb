"""Policies: which groups may talk to which, and what peers must fulfil for it."""

from django.db import models

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import OrderedLink, listed_once, owner_key


class PostureCheck(AuditedModel):
    """What a peer must fulfil before a policy lets it in.

    `checks` maps the kind of check (`nb_version_check`, `os_version_check`,
    `geo_location_check`, `peer_network_range_check`, `process_check`) to its settings.
    """

    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True)
    checks = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["name"], name="posture_check_name_unique")
        ]


class Policy(AuditedModel):
    """A named set of rules that are switched on and off together."""

    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta(AuditedModel.Meta):
        verbose_name_plural = "policies"


class PolicyPostureCheck(OrderedLink):
    """A posture check that the sources of a policy must pass."""

    owner_field = "policy"
    member_fields = ("posture_check_id",)
    relation = "source_posture_checks"

    policy = owner_key(Policy, "posture_check_links")
    # Taken out by the service, which disables what would let in more without it.
    posture_check = models.ForeignKey(
        PostureCheck, on_delete=models.PROTECT, related_name="policy_links"
    )

    class Meta(OrderedLink.Meta):
        verbose_name = "posture check of a policy"
        verbose_name_plural = "posture checks of policies"
        constraints = listed_once(
            "policy_posture_check_unique", "policy", "posture_check"
        )


class Action(models.TextChoices):
    """What a rule does with matching traffic."""

    ACCEPT = "accept"
    DROP = "drop"


class Protocol(models.TextChoices):
    """Which traffic a rule matches."""

    ALL = "all"
    TCP = "tcp"
    UDP = "udp"
    ICMP = "icmp"
    SSH = "netbird-ssh"


class PolicyRule(AuditedModel):
    """From which groups (or one resource) to which, with which ports.

    Either the list of source groups or the source resource is set, likewise for the
    destination; resource types are those of group members (peer, host, subnet, domain).
    `ports` is a list of numbers as text, `port_ranges` of `{"start": int, "end": int}`.
    """

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="rules")
    position = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=1000, blank=True)
    enabled = models.BooleanField(default=True)
    action = models.CharField(
        max_length=6, choices=Action.choices, default=Action.ACCEPT
    )
    bidirectional = models.BooleanField(default=True)
    protocol = models.CharField(
        max_length=11, choices=Protocol.choices, default=Protocol.ALL
    )
    ports = models.JSONField(default=list, blank=True)
    port_ranges = models.JSONField(default=list, blank=True)
    # No foreign key, for it names a peer or a resource: `removal` empties it.
    source_resource_id = models.CharField(max_length=255, blank=True)
    source_resource_type = models.CharField(max_length=6, blank=True)
    destination_resource_id = models.CharField(max_length=255, blank=True)
    destination_resource_type = models.CharField(max_length=6, blank=True)

    class Meta:
        ordering = ["policy", "position", "id"]

    def resource(self, end: str) -> tuple[str, str]:
        """Return id and type of what is at an end in place of groups, "" for nothing."""
        prefix = f"{end}_resource"
        return getattr(self, f"{prefix}_id"), getattr(self, f"{prefix}_type")

    def set_resource(self, end: str, id_: str = "", kind: str = "") -> None:
        """Put something at an end in place of groups; nothing takes it away."""
        setattr(self, f"{end}_resource_id", id_)
        setattr(self, f"{end}_resource_type", kind)


class RuleSource(GroupLink):
    """A group whose peers a rule lets out."""

    owner_field = "rule"
    relation = "sources"

    rule = owner_key(PolicyRule, "source_links")

    class Meta(GroupLink.Meta):
        verbose_name = "source of a rule"
        verbose_name_plural = "sources of rules"
        constraints = listed_once("rule_source_unique", "rule", "group")


class RuleDestination(GroupLink):
    """A group whose peers and resources a rule lets in to."""

    owner_field = "rule"
    relation = "destinations"

    rule = owner_key(PolicyRule, "destination_links")

    class Meta(GroupLink.Meta):
        verbose_name = "destination of a rule"
        verbose_name_plural = "destinations of rules"
        constraints = listed_once("rule_destination_unique", "rule", "group")


class RuleAuthorizedGroup(GroupLink):
    """A group whose users may sign in by SSH as the local users named.

    `local_users` holds the names in order, one per line; none: any.
    """

    owner_field = "rule"
    member_fields = ("group_id", "local_users")
    relation = "authorized_groups"

    rule = owner_key(PolicyRule, "authorized_group_links")
    local_users = models.TextField(blank=True)

    class Meta(GroupLink.Meta):
        verbose_name = "authorized group of a rule"
        verbose_name_plural = "authorized groups of rules"
        constraints = listed_once("rule_authorized_group_unique", "rule", "group")
