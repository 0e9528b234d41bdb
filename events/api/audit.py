"""Reading the audit trail."""

from typing import Any, Final

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from events.activities import Activity
from events.models import AuditEvent
from meshmgmt.api.views import ApiView
from meshmgmt.core import clock

NEWEST: Final = 10_000


class AuditEventSerializer(serializers.Serializer[AuditEvent]):
    """One event as lists show it (seed, Resources)."""

    id = serializers.CharField()
    timestamp = serializers.DateTimeField()
    activity = serializers.CharField()
    activity_code = serializers.CharField()
    initiator_id = serializers.CharField()
    initiator_name = serializers.CharField()
    initiator_email = serializers.CharField()
    target_id = serializers.CharField()
    meta = serializers.DictField(child=serializers.CharField())


def audit_rows(limit: int = NEWEST) -> list[dict[str, Any]]:
    """Return the newest events, newest first."""
    columns = (
        "id",
        "timestamp",
        "activity_code",
        "initiator_id",
        "initiator_name",
        "initiator_email",
        "target_id",
        "meta",
    )
    return [
        {
            "id": str(number),
            "timestamp": clock.rfc3339(timestamp),
            "activity": str(Activity(code).label),
            "activity_code": code,
            "initiator_id": initiator_id,
            "initiator_name": name,
            "initiator_email": email,
            "target_id": target_id,
            "meta": meta,
        }
        for number, timestamp, code, initiator_id, name, email, target_id, meta in (
            AuditEvent.objects.order_by("-id").values_list(*columns)[:limit]
        )
    ]


class AuditEventsView(ApiView):
    """The newest audit events, newest first."""

    module = "events"
    serializer_class = AuditEventSerializer
    answers_list = True

    def get(self, request: Request) -> Response:
        """Return at most 10,000 events."""
        return Response(audit_rows())
