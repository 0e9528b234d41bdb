"""Bodies of routes."""

from rest_framework import serializers

from meshmgmt.api.fields import (
    AbsentKept,
    ObjectSerializer,
    Shown,
    TextField,
    TruthField,
    WholeNumberField,
    references,
    texts,
)


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
