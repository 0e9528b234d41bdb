"""Endpoints of subscriptions to event streams."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

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
from meshmgmt.api.permissions import may
from meshmgmt.api.requests import OptionalJSONParser
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.queries import found
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation
from meshmgmt.core.textrules import MAX_NAME
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.delivery import services
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.selectors import letter_rows, state_row, subscription_rows


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
    """An ISO 8601 date and time, as in queries; `-24h` is a day ago.

    `end` makes a date alone mean the end of that day.
    """

    default_error_messages = {
        "required": REQUIRED,
        "null": REQUIRED,
        "invalid": "must be an ISO 8601 date and time",
    }

    def __init__(self, *, end: bool = False, **extra: Any) -> None:
        super().__init__(**extra)
        self.end = end

    def to_internal_value(self, data: object) -> datetime:
        """Return the instant. Fails with `invalid`."""
        try:
            text = data if isinstance(data, str) else ""
            return parse_query_instant(text, end=self.end)
        except (ValueError, OverflowError):
            self.fail("invalid")


class ReplayRequestSerializer(ObjectSerializer):
    """Which events are sent again, by their times."""

    until = InstantField(
        end=True,
        source="end",
        default=None,
        allow_null=True,
        help_text="Now, unless given; a date alone is the end of that day",
    )

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        """Return the fields; Python has a meaning of its own for one's name."""
        return {"from": InstantField(source="start"), **super().get_fields()}


class EmptySerializer(ObjectSerializer):
    """Nothing."""


_STATE: Final = {200: StateSerializer}
_DEED: Final[dict[str, Any]] = {
    "detail": True,
    "methods": ["post"],
    "operation": Operation.UPDATE,
    "plannable": False,
    "parser_classes": [OptionalJSONParser],
}
"""How an action without a body is routed."""


class SubscriptionViewSet(ResourceViewSet):
    """Subscriptions: who is sent the events of a stream."""

    module = "events"
    tags = ("events",)
    kind = services.KIND
    lookup_url_kwarg = "subscriptionId"
    serializer_class = SubscriptionSerializer
    request_serializer_class = SubscriptionRequestSerializer
    update_serializer_class = SubscriptionUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return the dicts; queries of addresses are for those who may change them."""
        whole = may(self.request, self.module, Operation.UPDATE)
        return subscription_rows(ids, whole=whole)

    @extend_schema(responses={200: NewSubscriptionSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Subscribe; the secret of a webhook is shown this once."""
        data = self.validated(self.request_serializer_class)
        made, secret = services.subscription_create(**data)
        return Response(self.row(made.pk) | ({"secret": secret} if secret else {}))

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        services.subscription_update(subscription_id=identifier, changes=data)
        return identifier

    def delete_object(self, identifier: str) -> None:
        """Delete a subscription with its dead letters."""
        services.subscription_delete(subscription_id=identifier)

    @property
    def subscription(self) -> Subscription:
        """The one in the path. Raises NotFound."""
        return found(Subscription, self.identifier, kind=self.kind)

    @extend_schema(responses=_STATE)
    @action(detail=True, plannable=False)
    def state(self, request: Request, **kwargs: Any) -> Response:
        """Return successes, failures and the lag."""
        with read_snapshot():
            return Response(state_row(self.subscription))

    @extend_schema(responses={200: DeadLetterSerializer(many=True)})
    @action(detail=True, url_path="dead-letters", plannable=False)
    def dead_letters(self, request: Request, **kwargs: Any) -> Response:
        """Return the newest thousand events refused for good, newest first."""
        with read_snapshot():
            return Response(letter_rows(self.subscription))

    @extend_schema(request=ReplayRequestSerializer, responses=_STATE)
    @action(detail=True, methods=["post"], operation=Operation.UPDATE)
    def replay(self, request: Request, **kwargs: Any) -> Response:
        """Have the events of a time range sent again, before any new ones."""
        identifier = self.identifier
        data = self.validated(ReplayRequestSerializer)
        services.subscription_replay(subscription_id=identifier, **data)
        return Response(state_row(self.subscription))

    @extend_schema(responses=_STATE)
    @replay.mapping.delete
    def stop_replay(self, request: Request, **kwargs: Any) -> Response:
        """Send nothing more again, and go on with what is new."""
        services.subscription_replay_stop(subscription_id=self.identifier)
        return Response(state_row(self.subscription))

    @extend_schema(request=EmptySerializer, responses=_STATE)
    @action(**_DEED)
    def test(self, request: Request, **kwargs: Any) -> Response:
        """Have a test event sent within seconds; the state tells what became of it."""
        services.subscription_test(subscription_id=self.identifier)
        return Response(state_row(self.subscription))

    @extend_schema(request=EmptySerializer, responses={200: SecretSerializer})
    @action(**_DEED)
    def secret(self, request: Request, **kwargs: Any) -> Response:
        """Give a webhook a new secret, shown this once; the old one signs for a day."""
        secret = services.subscription_secret(subscription_id=self.identifier)
        return Response({"secret": secret})
