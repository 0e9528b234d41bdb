"""Paths of the event streams."""

from django.urls import path

from events.api.audit import AuditEventsView

urlpatterns = [
    path("api/events/audit", AuditEventsView.as_view(), name="audit-events"),
    path("api/events", AuditEventsView.as_view(), name="events"),
]
