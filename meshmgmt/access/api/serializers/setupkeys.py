"""Bodies of setup keys."""

from typing import Any

from rest_framework import serializers

from meshmgmt.access.rules.setupkeys import TYPES
from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
    references,
)


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
