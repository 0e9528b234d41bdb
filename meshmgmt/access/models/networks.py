"""Routes, and the routers of networks."""

from django.db import models

from events.audit.audited import AuditedModel
from groups.models import GroupLink
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import listed_once, owner_key
from meshmgmt.inventory.models import Network, Peer


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
