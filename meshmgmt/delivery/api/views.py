"""Endpoints of subscriptions to event streams."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.bodies import OptionalJSONParser
from meshmgmt.api.views import ApiView, ResourceViewSet, Row, path_id
from meshmgmt.core.queries import found
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.delivery import services
from meshmgmt.delivery.api import serializers as bodies
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import SubscriptionDraft
from meshmgmt.delivery.selectors import letter_rows, state_row, subscription_rows


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
        return subscription_rows(ids)

    @extend_schema(responses={200: bodies.NewSubscriptionSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Subscribe; the secret of a webhook is shown this once."""
        data = self.validated(self.request_serializer_class)
        made = services.subscription_create(draft=SubscriptionDraft(**data))
        secret = {"secret": made.secret} if made.secret else {}
        return Response({**self.row(made.subscription.pk), **secret})

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        changed = services.subscription_update(subscription_id=identifier, changes=data)
        return changed.pk

    def delete_object(self, identifier: str) -> None:
        """Delete a subscription with its dead letters."""
        services.subscription_delete(subscription_id=identifier)


class _OfSubscription(ApiView):
    """What belongs to one subscription."""

    module = "events"
    tags = ("events",)

    def subscription(self) -> Subscription:
        """Return the one in the path. Raises NotFound."""
        return found(Subscription, self.identifier, kind=services.KIND)

    @property
    def identifier(self) -> str:
        """The id in the path. Raises NotFound when it cannot be one."""
        return path_id(services.KIND, self.kwargs["subscriptionId"])


class StateView(_OfSubscription):
    """How far the sending of a subscription has come."""

    serializer_class = bodies.StateSerializer

    def get(self, request: Request, subscriptionId: str) -> Response:  # noqa: N803 - path
        """Return successes, failures and the lag."""
        with read_snapshot():
            return Response(state_row(self.subscription()))


class DeadLettersView(_OfSubscription):
    """Events that their receiver refused for good."""

    serializer_class = bodies.DeadLetterSerializer
    answers_list = True

    @extend_schema(responses={200: bodies.DeadLetterSerializer(many=True)})
    def get(self, request: Request, subscriptionId: str) -> Response:  # noqa: N803 - path
        """Return the newest thousand, newest first."""
        with read_snapshot():
            return Response(letter_rows(self.subscription()))


class ReplayView(_OfSubscription):
    """Sending events again."""

    operation = Operation.UPDATE
    plannable = True
    serializer_class = bodies.StateSerializer
    request_serializer_class = bodies.ReplayRequestSerializer

    def post(self, request: Request, subscriptionId: str) -> Response:  # noqa: N803 - path
        """Have the events of a time range sent again, before any new ones."""
        identifier = self.identifier
        data = self.validated(bodies.ReplayRequestSerializer)
        services.subscription_replay(
            subscription_id=identifier, start=data["start"], end=data.get("until")
        )
        return Response(state_row(self.subscription()))


class TestView(_OfSubscription):
    """Trying a subscription out."""

    operation = Operation.UPDATE
    serializer_class = bodies.StateSerializer
    request_serializer_class = bodies.EmptySerializer
    parser_classes = [OptionalJSONParser]

    def post(self, request: Request, subscriptionId: str) -> Response:  # noqa: N803 - path
        """Have a test event sent within seconds; the state tells what became of it."""
        services.subscription_test(subscription_id=self.identifier)
        return Response(state_row(self.subscription()))
