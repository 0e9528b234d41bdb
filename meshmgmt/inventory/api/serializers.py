"""Bodies of the inventory's endpoints."""

from typing import Any

from rest_framework import serializers

from meshmgmt.api.fields import ObjectSerializer, TextField, TruthField
from meshmgmt.inventory.flags import LOCAL_FLAGS
from meshmgmt.inventory.selectors import ACCESSIBLE


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
    ipv6 = TextField(required=False, help_text="Within the account's range, unused")


class AccessiblePeerSerializer(PeerSerializer):
    """A peer that another one can reach."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return those of a peer that are shown of others."""
        fields = super().get_fields()
        return {name: fields[name] for name in ACCESSIBLE}
