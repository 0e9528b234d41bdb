"""Paths of the event streams."""

from django.urls import path

from events.api.audit import AuditEventsView, AuditEventView
from events.api.streams import ProxyEntriesView, TrafficEventsView
from events.api.summaries import (
    AuditSummaryView,
    ProxySummaryView,
    TrafficSummaryView,
)

urlpatterns = [
    path("api/events/audit", AuditEventsView.as_view(), name="audit-events"),
    path("api/events/audit/summary", AuditSummaryView.as_view(), name="audit-summary"),
    path(
        "api/events/audit/<str:event_id>", AuditEventView.as_view(), name="audit-event"
    ),
    path("api/events", AuditEventsView.as_view(), name="events"),
    path(
        "api/events/network-traffic",
        TrafficEventsView.as_view(),
        name="network-traffic",
    ),
    path(
        "api/events/network-traffic/summary",
        TrafficSummaryView.as_view(),
        name="network-traffic-summary",
    ),
    path("api/events/proxy", ProxyEntriesView.as_view(), name="proxy-entries"),
    path("api/events/proxy/summary", ProxySummaryView.as_view(), name="proxy-summary"),
]
