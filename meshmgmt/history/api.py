"""Taking back what the audit trail tells."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from events.audit.reading import event_by_id, events_of_request
from meshmgmt.accounts.authority import viewer_of
from meshmgmt.api.fields import TruthField
from meshmgmt.api.requests import OptionalJSONParser
from meshmgmt.api.views import ApiView
from meshmgmt.core.roles import Operation
from meshmgmt.history.reverting import Reversal


class RevertRequestSerializer(serializers.Serializer[Any]):
    """How much to take back."""

    whole_request = TruthField(
        required=False,
        default=False,
        help_text="Everything that was done in the same request, not this event alone",
    )


class RevertedSerializer(serializers.Serializer[Any]):
    """What was taken back."""

    reverted = serializers.ListField(
        child=serializers.IntegerField(), help_text="Ids of the events, newest first"
    )


class RevertView(ApiView):
    """Reverts an event of the audit trail, or all of its request."""

    module = "events"
    operation = Operation.READ  # to change each object needs its own permission
    plannable = True
    tags = ("events",)
    serializer_class = RevertedSerializer
    request_serializer_class = RevertRequestSerializer
    parser_classes = [OptionalJSONParser]

    @extend_schema(operation_id="audit_event_revert")
    def post(self, request: Request, event_id: str) -> Response:
        """Do the inverse as a new change; refused when later changes stand in the way."""
        event = event_by_id(event_id)
        whole = self.validated(RevertRequestSerializer)["whole_request"]
        reversal = Reversal(events_of_request(event) if whole else [event])
        reversal.carry_out(viewer_of(request))
        return Response({"reverted": [event.pk for event in reversal.events]})
