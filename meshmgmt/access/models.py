"""What refers to groups: keys, auto-groups and invites, routes and routers, policies."""

from django.conf import settings
from django.db import models

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.accounts.tokens import HASH_LENGTH
from meshmgmt.core import clock
from meshmgmt.core.ids import ID_LENGTH
from meshmgmt.core.orderedlinks import OrderedLink, listed_once, owner_key
from meshmgmt.core.roles import Role
from meshmgmt.inventory.models import Network, Peer


class KeyType(models.TextChoices):
    """How often a setup key is good."""

    REUSABLE = "reusable"
    ONE_OFF = "one-off"


class SetupKey(AuditedModel):
    """A key that enrols peers without a user.

    The key itself is not kept: `key_hash` is the hex SHA-256 of it, `key_prefix` its
    first characters for people. `usage_limit` 0 means unlimited; no `expires_at` means
    for ever. `plain` is the key itself, of one just made.
    """

    plain = ""

    name = models.CharField(max_length=255)
    type = models.CharField(
        max_length=8, choices=KeyType.choices, default=KeyType.REUSABLE
    )
    key_hash = models.CharField(max_length=HASH_LENGTH, editable=False)
    key_prefix = models.CharField(max_length=8, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked = models.BooleanField(default=False)
    used_times = models.PositiveIntegerField(default=0, editable=False)
    last_used = models.DateTimeField(null=True, blank=True, editable=False)
    usage_limit = models.PositiveIntegerField(default=0)
    ephemeral = models.BooleanField(default=False)
    allow_extra_dns_labels = models.BooleanField(
        "allow extra DNS labels", default=False
    )

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["key_hash"], name="setup_key_hash_unique")
        ]

    @property
    def masked(self) -> str:
        return f"{self.key_prefix}****"


class SetupKeyAutoGroup(GroupLink):
    """A group that peers enrolled by a key join."""

    owner_field = "setup_key"
    relation = "auto_groups"

    setup_key = owner_key(SetupKey, "auto_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "auto-group of a setup key"
        verbose_name_plural = "auto-groups of setup keys"
        constraints = listed_once("setup_key_auto_group_unique", "setup_key", "group")


class UserAutoGroup(GroupLink):
    """A group that the peers of a user join."""

    owner_field = "user"
    relation = "auto_groups"

    user = owner_key(settings.AUTH_USER_MODEL, "auto_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "auto-group of a user"
        verbose_name_plural = "auto-groups of users"
        constraints = listed_once("user_auto_group_unique", "user", "group")


class Invite(AuditedModel):
    """A link by which a person becomes a user.

    `token_hash` is the hex SHA-256 of the secret in the link; `created_by` is the id of
    the user who made it, `accepted_by` that of the user it made, both kept by value.
    `token` is the secret itself, of a link just made.
    """

    token = ""

    email = models.EmailField(max_length=254)
    name = models.CharField(max_length=255)
    role = models.CharField(
        max_length=13,
        choices=[(role.value, role.value) for role in Role],
        default=Role.USER.value,
    )
    token_hash = models.CharField(max_length=HASH_LENGTH, editable=False)
    token_prefix = models.CharField(max_length=8, editable=False)
    created_by = models.CharField(max_length=ID_LENGTH, blank=True, editable=False)
    accepted_by = models.CharField(max_length=ID_LENGTH, blank=True, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()

    class Meta(AuditedModel.Meta):
        constraints = [
            models.UniqueConstraint(fields=["token_hash"], name="invite_hash_unique")
        ]

    def __str__(self) -> str:
        return self.email


class InviteAutoGroup(GroupLink):
    """An auto-group that the invited user starts with."""

    owner_field = "invite"
    relation = "auto_groups"

    invite = owner_key(Invite, "auto_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "auto-group of an invite"
        verbose_name_plural = "auto-groups of invites"
        constraints = listed_once("invite_auto_group_unique", "invite", "group")


class Route(AuditedModel):
    """A network or domains that a peer, or the peers of groups, forward to.

    Exactly one of `network` (CIDR text) and `domains` (list) is set; likewise either
    `peer` or peer groups. `network_id` is the name that clients of the reference API
    give to routes that back each other up.
    """

    network_id = models.CharField("network identifier", max_length=40)
    description = models.CharField(max_length=1000, blank=True)
    enabled = models.BooleanField(default=True)
    # 43 characters: the longest IPv6 address with its prefix length.
    network = models.CharField(max_length=43, blank=True)
    domains = models.JSONField(default=list, blank=True)
    # `take_peers_out` lets go of a peer that is to go, and disables the route.
    peer = models.ForeignKey(
        Peer, on_delete=models.PROTECT, null=True, blank=True, related_name="routes"
    )
    metric = models.PositiveIntegerField(default=9999)
    # What a form starts with: over the API it is off unless it is sent.
    masquerade = models.BooleanField(default=True)
    keep_route = models.BooleanField(default=False)
    skip_auto_apply = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return self.network_id


class RouteGroup(GroupLink):
    """A group whose peers get a route."""

    owner_field = "route"
    relation = "groups"

    route = owner_key(Route, "group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "group of a route"
        verbose_name_plural = "groups of routes"
        constraints = listed_once("route_group_unique", "route", "group")


class RoutePeerGroup(GroupLink):
    """A group whose peers forward for a route."""

    owner_field = "route"
    relation = "peer_groups"

    route = owner_key(Route, "peer_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "peer group of a route"
        verbose_name_plural = "peer groups of routes"
        constraints = listed_once("route_peer_group_unique", "route", "group")


class RouteAccessControlGroup(GroupLink):
    """A group that policies name to control who may use a route."""

    owner_field = "route"
    relation = "access_control_groups"

    route = owner_key(Route, "access_control_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "access control group of a route"
        verbose_name_plural = "access control groups of routes"
        constraints = listed_once("route_access_control_group_unique", "route", "group")


class Router(AuditedModel):
    """A peer, or the peers of groups, that forward into a network."""

    network = models.ForeignKey(
        Network, on_delete=models.CASCADE, related_name="routers"
    )
    peer = models.ForeignKey(
        Peer, on_delete=models.PROTECT, null=True, blank=True, related_name="routers"
    )
    metric = models.PositiveIntegerField(default=9999)
    masquerade = models.BooleanField(default=True)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return f"into {self.network}"


class RouterPeerGroup(GroupLink):
    """A group whose peers forward into a network."""

    owner_field = "router"
    relation = "peer_groups"

    router = owner_key(Router, "peer_group_links")

    class Meta(GroupLink.Meta):
        verbose_name = "peer group of a router"
        verbose_name_plural = "peer groups of routers"
        constraints = listed_once("router_peer_group_unique", "router", "group")


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
