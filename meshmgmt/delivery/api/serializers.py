"""Bodies of the endpoints of subscriptions."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from events.api.queries import parse_query_instant
from meshmgmt.api.fields import (
    REQUIRED,
    AbsentKept,
    MapField,
    ObjectSerializer,
    Shown,
    TextField,
    TruthField,
    WholeNumberField,
)
from meshmgmt.core.textrules import MAX_NAME


class TargetSerializer(ObjectSerializer):
    """Where events go; the fields belong to one type each."""

    type = TextField(help_text="webhook, syslog or file")
    url = TextField(required=False, help_text="Of a webhook: https://HOST/PATH")
    host = TextField(required=False, help_text="Of a syslog receiver")
    port = WholeNumberField(required=False, help_text="Of a syslog receiver")
    tls = TruthField(required=False, help_text="Whether syslog goes over TLS")
    path = TextField(required=False, help_text="Of a file, below SVC_DELIVERY_DIR")


class SubscriptionRequestSerializer(ObjectSerializer):
    """A subscription as a client creates it."""

    name = TextField(help_text=f"1 to {MAX_NAME} characters, unique")
    stream = TextField(help_text="audit, network-traffic or proxy; never changes")
    filters = MapField(
        required=False,
        help_text="Query parameters of the stream's list, without times: texts, or"
        " arrays of texts",
    )
    target = TargetSerializer()
    enabled = TruthField(required=False, default=True)


class SubscriptionUpdateSerializer(AbsentKept, SubscriptionRequestSerializer):
    """What a client changes; absent fields keep their value."""


class SubscriptionSerializer(Shown, SubscriptionRequestSerializer):
    """A subscription."""

    created_at = serializers.DateTimeField()


class NewSubscriptionSerializer(SubscriptionSerializer):
    """A subscription just made, with the secret of its webhook, shown this once."""

    secret = TextField(required=False, help_text="whsec_...; of webhooks alone")


class SecretSerializer(ObjectSerializer):
    """A new secret, shown this once."""

    secret = TextField(help_text="whsec_...")


class StateSerializer(ObjectSerializer):
    """How far the sending has come."""

    id = TextField()
    failures = WholeNumberField(help_text="In a row")
    next_attempt = serializers.DateTimeField(allow_null=True)
    last_success = serializers.DateTimeField(allow_null=True)
    last_error = TextField()
    replay_from = serializers.DateTimeField(allow_null=True)
    replay_until = serializers.DateTimeField(allow_null=True)
    test_asked = serializers.DateTimeField(allow_null=True)
    test_result = TextField(help_text="When, and what became of it")
    lag_seconds = serializers.FloatField(help_text="Age of the oldest event that waits")
    dead_letters = WholeNumberField()


class DeadLetterSerializer(ObjectSerializer):
    """An event that its receiver refused for good."""

    event_id = TextField()
    event_time = serializers.DateTimeField()
    error = TextField()
    created_at = serializers.DateTimeField()


@extend_schema_field({"type": "string", "format": "date-time"})
class InstantField(serializers.Field[Any, Any, Any, Any]):
    """An ISO 8601 date and time, as in queries; `-24h` is a day ago."""

    default_error_messages = {
        "required": REQUIRED,
        "null": REQUIRED,
        "invalid": "must be an ISO 8601 date and time",
    }

    def to_internal_value(self, data: object) -> datetime:
        """Return the instant. Fails with `invalid`."""
        try:
            return parse_query_instant(data if isinstance(data, str) else "")
        except (ValueError, OverflowError):
            self.fail("invalid")


class ReplayRequestSerializer(ObjectSerializer):
    """Which events are sent again, by their times."""

    until = InstantField(
        source="end", default=None, allow_null=True, help_text="Now, unless given"
    )

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        """Return the fields; Python has a meaning of its own for one's name."""
        return {"from": InstantField(source="start"), **super().get_fields()}


class EmptySerializer(ObjectSerializer):
    """Nothing."""
