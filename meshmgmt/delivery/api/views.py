"""Endpoints of subscriptions to event streams."""

from collections.abc import Sequence
from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.bodies import OptionalJSONParser
from meshmgmt.api.permissions import may
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.core.queries import found
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.delivery import services
from meshmgmt.delivery.api import serializers as bodies
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.selectors import letter_rows, state_row, subscription_rows

_STATE: Final = {200: bodies.StateSerializer}
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
    serializer_class = bodies.SubscriptionSerializer
    request_serializer_class = bodies.SubscriptionRequestSerializer
    update_serializer_class = bodies.SubscriptionUpdateSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return the dicts; queries of addresses are for those who may change them."""
        whole = may(self.request, self.module, Operation.UPDATE)
        return subscription_rows(ids, whole=whole)

    @extend_schema(responses={200: bodies.NewSubscriptionSerializer})
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

    @extend_schema(responses={200: bodies.DeadLetterSerializer(many=True)})
    @action(detail=True, url_path="dead-letters", plannable=False)
    def dead_letters(self, request: Request, **kwargs: Any) -> Response:
        """Return the newest thousand events refused for good, newest first."""
        with read_snapshot():
            return Response(letter_rows(self.subscription))

    @extend_schema(request=bodies.ReplayRequestSerializer, responses=_STATE)
    @action(detail=True, methods=["post"], operation=Operation.UPDATE)
    def replay(self, request: Request, **kwargs: Any) -> Response:
        """Have the events of a time range sent again, before any new ones."""
        identifier = self.identifier
        data = self.validated(bodies.ReplayRequestSerializer)
        services.subscription_replay(subscription_id=identifier, **data)
        return Response(state_row(self.subscription))

    @extend_schema(request=bodies.EmptySerializer, responses=_STATE)
    @action(**_DEED)
    def test(self, request: Request, **kwargs: Any) -> Response:
        """Have a test event sent within seconds; the state tells what became of it."""
        services.subscription_test(subscription_id=self.identifier)
        return Response(state_row(self.subscription))

    @extend_schema(
        request=bodies.EmptySerializer, responses={200: bodies.SecretSerializer}
    )
    @action(**_DEED)
    def secret(self, request: Request, **kwargs: Any) -> Response:
        """Give a webhook a new secret, shown this once; the old one signs for a day."""
        secret = services.subscription_secret(subscription_id=self.identifier)
        return Response({"secret": secret})
