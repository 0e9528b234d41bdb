"""Bodies of invites."""

from typing import Any

from rest_framework import serializers

from meshmgmt.api.fields import (
    ObjectSerializer,
    Shown,
    TextField,
    WholeNumberField,
    references,
    texts,
)
from meshmgmt.core.roles import Role


class InviteRequestSerializer(ObjectSerializer):
    """An invite as a client creates it."""

    email = TextField()
    name = TextField(help_text="1 to 255 characters")
    role = TextField(help_text=f"One of {', '.join(r for r in Role if r != 'owner')}")
    auto_groups = references(required=False, help_text="Groups that their peers join")
    expires_in = WholeNumberField(
        required=False, help_text="Seconds, an hour to a year, default 72 hours"
    )


class InviteSerializer(Shown, InviteRequestSerializer):
    """An invite that waits to be accepted."""

    # What requests alone have: None takes an inherited field away.
    expires_in: Any = None
    auto_groups = texts()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    expired = serializers.BooleanField()


class NewInviteSerializer(InviteSerializer):
    """An invite just made; the secret of its link is shown this once."""

    invite_token = serializers.CharField()


class InviteRegenerationSerializer(ObjectSerializer):
    """How long the new link shall be good."""

    expires_in = WholeNumberField(
        required=False, help_text="Seconds, an hour to a year, default 72 hours"
    )


class NewInviteLinkSerializer(serializers.Serializer[Any]):
    """The secret of the new link, shown this once."""

    invite_token = serializers.CharField()
    invite_expires_at = serializers.DateTimeField()


class InviteFactsSerializer(serializers.Serializer[Any]):
    """What somebody who has the link may know."""

    email = serializers.CharField()
    name = serializers.CharField()
    expires_at = serializers.DateTimeField()
    valid = serializers.BooleanField()
    invited_by = serializers.CharField()


class InviteAcceptanceSerializer(ObjectSerializer):
    """The password that the invited person chose."""

    password = TextField(
        help_text="8 to 128 characters with a digit, an upper-case letter and a special"
        " character"
    )


class SuccessSerializer(serializers.Serializer[Any]):
    """It worked."""

    success = serializers.BooleanField()
