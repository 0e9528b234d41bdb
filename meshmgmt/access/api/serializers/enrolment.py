"""Bodies of setup keys and invites."""

from typing import Any

from rest_framework import serializers

from meshmgmt.access.rules.enrolment import TYPES
from meshmgmt.accounts.rules import ASKED_FOR
from meshmgmt.api.fields import (
    ObjectSerializer,
    Shown,
    TextField,
    TruthField,
    WholeNumberField,
    references,
    texts,
)
from meshmgmt.core.roles import Role


class SetupKeyRequestSerializer(ObjectSerializer):
    """A setup key as a client creates it."""

    name = TextField(help_text="1 to 255 characters")
    type = TextField(help_text=f"One of {', '.join(TYPES)}")
    expires_in = WholeNumberField(help_text="Seconds; 0: never")
    auto_groups = references(required=False, help_text="Groups that peers join")
    usage_limit = WholeNumberField(required=False, help_text="0: unlimited")
    ephemeral = TruthField(required=False, help_text="Default false")
    allow_extra_dns_labels = TruthField(required=False, help_text="Default false")


class SetupKeyUpdateSerializer(ObjectSerializer):
    """What a client changes of a setup key; absent fields keep their value."""

    revoked = TruthField(required=False, help_text="A revoked key stays revoked")
    auto_groups = references(required=False, help_text="Groups that peers join")


# In the words and the order of the reference: little of it is as it was sent.
class SetupKeySerializer(serializers.Serializer[Any]):
    """A setup key."""

    id = serializers.CharField()
    key = serializers.CharField(help_text="In full once, on creation; else masked")
    name = serializers.CharField()
    expires = serializers.CharField(help_text="RFC 3339; year 1 when never")
    type = serializers.ChoiceField(choices=TYPES)
    valid = serializers.BooleanField()
    revoked = serializers.BooleanField()
    used_times = serializers.IntegerField()
    last_used = serializers.CharField(help_text="RFC 3339; year 1 when never")
    state = serializers.ChoiceField(choices=["valid", "expired", "revoked", "overused"])
    auto_groups = serializers.ListField(child=serializers.CharField())
    updated_at = serializers.CharField(help_text="RFC 3339")
    usage_limit = serializers.IntegerField(help_text="0: unlimited")
    ephemeral = serializers.BooleanField()
    allow_extra_dns_labels = serializers.BooleanField()


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

    password = TextField(help_text=ASKED_FOR)


class SuccessSerializer(serializers.Serializer[Any]):
    """It worked."""

    success = serializers.BooleanField()
