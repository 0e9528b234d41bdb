"""HTTP API of the inventory."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.accounts.authority import viewer_of
from meshmgmt.api.fields import ObjectSerializer, TextField, TruthField
from meshmgmt.api.permissions import READING
from meshmgmt.api.views import ApiView, path_id, replaced
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.rules import LOCAL_FLAGS
from meshmgmt.inventory.selectors import ACCESSIBLE, peer_row, peer_rows
from meshmgmt.inventory.services.peers import KIND, peer_delete, peer_update


class ShortGroupSerializer(ObjectSerializer):
    """A group as other objects show it."""

    id = serializers.CharField()
    name = serializers.CharField()
    peers_count = serializers.IntegerField()
    resources_count = serializers.IntegerField()


LocalFlagsSerializer = type(
    "LocalFlagsSerializer",
    (ObjectSerializer,),
    {
        "__doc__": "What the peer's owner decided on the machine itself.",
        **{flag: serializers.BooleanField() for flag in LOCAL_FLAGS},
    },
)


class PeerSerializer(ObjectSerializer):
    """A peer."""

    id = serializers.CharField()
    name = serializers.CharField()
    ip = serializers.CharField()
    ipv6 = serializers.CharField(required=False, help_text="Absent when there is none.")
    connection_ip = serializers.CharField(help_text="Empty when unknown.")
    connected = serializers.BooleanField()
    last_seen = serializers.CharField(help_text="RFC 3339; year 1 when never.")
    os = serializers.CharField()
    kernel_version = serializers.CharField()
    geoname_id = serializers.IntegerField()
    version = serializers.CharField()
    groups = ShortGroupSerializer(many=True)
    ssh_enabled = serializers.BooleanField()
    user_id = serializers.CharField(help_text="Empty when nobody owns the peer.")
    hostname = serializers.CharField()
    ui_version = serializers.CharField()
    dns_label = serializers.CharField(help_text="The full name.")
    extra_dns_labels = serializers.ListField(child=serializers.CharField())
    login_expiration_enabled = serializers.BooleanField()
    login_expired = serializers.BooleanField()
    last_login = serializers.CharField(help_text="RFC 3339; year 1 when never.")
    inactivity_expiration_enabled = serializers.BooleanField()
    approval_required = serializers.BooleanField()
    disapproval_reason = serializers.CharField(required=False)
    country_code = serializers.CharField()
    city_name = serializers.CharField()
    serial_number = serializers.CharField()
    ephemeral = serializers.BooleanField()
    created_at = serializers.CharField(help_text="RFC 3339.")
    local_flags = LocalFlagsSerializer()


class PeerInListSerializer(PeerSerializer):
    """A peer in a list."""

    accessible_peers_count = serializers.IntegerField(
        help_text="Always 0, as clients know it: ask for the accessible peers."
    )


class PeerUpdateSerializer(ObjectSerializer):
    """What a client changes of a peer; absent fields keep their value."""

    name = TextField(required=False, help_text="1 to 255 characters")
    ssh_enabled = TruthField(required=False)
    login_expiration_enabled = TruthField(
        required=False, help_text="Only for peers that somebody owns"
    )
    inactivity_expiration_enabled = TruthField(
        required=False, help_text="Only for peers that somebody owns"
    )
    approval_required = TruthField(required=False)
    ip = TextField(required=False, help_text="Within the account's range, unused")
    ipv6 = TextField(
        required=False,
        help_text="Within the account's range, unused; empty or `null` is as if left out",
    )


class AccessiblePeerSerializer(PeerSerializer):
    """A peer that another one can reach."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return those of a peer that are shown of others."""
        fields = super().get_fields()
        return {name: fields[name] for name in ACCESSIBLE}


class PeersView(ApiView):
    """The peers that the caller may see."""

    tags = ("peers",)
    serializer_class = PeerInListSerializer
    answers_list = True

    @extend_schema(
        parameters=[
            OpenApiParameter("name", str, description="Part of the name, any case."),
            OpenApiParameter("ip", str, description="Part of an address."),
        ]
    )
    def get(self, request: Request) -> Response:
        """Return peers, in the order of their creation."""
        with read_snapshot():
            rows = peer_rows(
                viewer_of(request),
                name=request.query_params.get("name", ""),
                ip=request.query_params.get("ip", ""),
            )
        for row in rows:
            row["accessible_peers_count"] = 0
        return Response(rows)


class PeerView(ApiView):
    """One peer."""

    module = "peers"
    plannable = True
    open_methods = READING
    serializer_class = PeerSerializer
    request_serializer_class = PeerUpdateSerializer

    def get(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Return a peer; one that the caller may not see is not found."""
        with read_snapshot():
            return Response(peer_row(viewer_of(request), path_id(KIND, peerId)))

    def put(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Change a peer and return it."""
        identifier = path_id(KIND, peerId)
        data = self.validated(PeerUpdateSerializer)
        peer_update(peer_id=identifier, **data)
        return replaced(peer_row(viewer_of(request), identifier))

    @extend_schema(responses={200: {"type": "object"}})
    def delete(self, request: Request, peerId: str) -> Response:  # noqa: N803 - seed
        """Delete a peer and take it out of everything that names it."""
        peer_delete(peer_id=path_id(KIND, peerId))
        return Response({})
