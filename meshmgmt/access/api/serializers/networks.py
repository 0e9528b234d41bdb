"""Bodies of routes, and of networks, their resources and routers."""

from rest_framework import serializers

from meshmgmt.api.fields import (
    AbsentKept,
    ArrayField,
    ObjectSerializer,
    Shown,
    TextField,
    TruthField,
    WholeNumberField,
    references,
    texts,
)
from meshmgmt.inventory.api import ShortGroupSerializer


class RouteRequestSerializer(ObjectSerializer):
    """A route as a client creates it."""

    network_id = TextField(
        help_text="1 to 40 characters; routes that back each other up share it"
    )
    description = TextField(required=False)
    enabled = TruthField(default=False, help_text="Off unless it is said to be on")
    network = TextField(required=False, help_text="CIDR; either this or `domains`")
    domains = texts(required=False, help_text="Up to 32; either this or `network`")
    peer = TextField(required=False, help_text="Id; either this or `peer_groups`")
    peer_groups = references(required=False, help_text="Either this or `peer`")
    metric = WholeNumberField(required=False, help_text="1 to 9999, default 9999")
    masquerade = TruthField(required=False, help_text="Default false")
    groups = references(help_text="Ids of the groups whose peers get the route")
    keep_route = TruthField(required=False, help_text="Default false")
    access_control_groups = references(required=False)
    skip_auto_apply = TruthField(required=False, help_text="Default false")


class RouteUpdateSerializer(AbsentKept, RouteRequestSerializer):
    """What a client changes of a route; absent fields keep their value."""


class RouteSerializer(Shown, RouteRequestSerializer):
    """A route."""

    peer = TextField(help_text="Empty when `peer_groups` forward")
    peer_groups = texts(required=False, help_text="Absent when empty")
    network = TextField(help_text="Empty when the route is for domains")
    domains = texts(allow_null=True, help_text="Null when the route is for a network")
    network_type = serializers.ChoiceField(choices=["IPv4", "IPv6", "Domain"])
    groups = texts()
    access_control_groups = texts(required=False, help_text="Absent when empty")


class NetworkRequestSerializer(ObjectSerializer):
    """A network as a client creates it."""

    name = TextField(help_text="1 to 255 characters")
    description = TextField(required=False)


class NetworkUpdateSerializer(AbsentKept, NetworkRequestSerializer):
    """What a client changes of a network; absent fields keep their value."""


class NetworkSerializer(Shown, NetworkRequestSerializer):
    """A network with the ids of what belongs to it."""

    routers = texts()
    resources = texts()
    policies = texts(help_text="Policies that let in to a resource")
    routing_peers_count = WholeNumberField()


class NetworkResourceRequestSerializer(ObjectSerializer):
    """A resource of a network as a client creates it."""

    name = TextField(help_text="1 to 255 characters, unique")
    description = TextField(required=False)
    address = TextField(help_text="IP address, CIDR network or domain (also `*.`)")
    enabled = TruthField(default=False, help_text="Off unless it is said to be on")
    groups = references(required=False, help_text="Ids of the groups it is in")


class NetworkResourceUpdateSerializer(AbsentKept, NetworkResourceRequestSerializer):
    """What a client changes of a resource; absent fields keep their value."""


class NetworkResourceSerializer(Shown, NetworkResourceRequestSerializer):
    """A resource of a network."""

    type = serializers.ChoiceField(choices=["host", "subnet", "domain"])
    groups = ArrayField(
        child=ShortGroupSerializer(), help_text="In the order of creation"
    )


class NetworkRouterRequestSerializer(ObjectSerializer):
    """A router of a network as a client creates it."""

    peer = TextField(required=False, help_text="Id; either this or `peer_groups`")
    peer_groups = references(required=False, help_text="Either this or `peer`")
    metric = WholeNumberField(required=False, help_text="1 to 9999, default 9999")
    masquerade = TruthField(required=False, help_text="Default false")
    # Unlike a route or a resource, a router is on unless it is said to be off.
    enabled = TruthField(required=False, help_text="Default true")


class NetworkRouterUpdateSerializer(AbsentKept, NetworkRouterRequestSerializer):
    """What a client changes of a router; absent fields keep their value."""


class NetworkRouterSerializer(Shown, NetworkRouterRequestSerializer):
    """A router of a network."""

    peer = TextField(help_text="Empty when `peer_groups` forward")
    peer_groups = texts(allow_null=True, help_text="Null beside `peer`")
