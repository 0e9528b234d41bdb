"""Paths of the event streams."""

from django.urls import path

from events.api.audit import AuditEventsView, AuditEventView
from events.api.proofs import (
    AuditHeadsView,
    AuditHeadView,
    AuditKeysView,
    ConsistencyView,
    InclusionView,
    LeavesView,
)
from events.api.streams import ProxyEntriesView, TrafficEventsView
from events.api.summaries import (
    AuditSummaryView,
    ProxySummaryView,
    TrafficSummaryView,
)

urlpatterns = [
    path("api/events/audit", AuditEventsView.as_view(), name="audit-events"),
    path("api/events/audit/summary", AuditSummaryView.as_view(), name="audit-summary"),
    path("api/events/audit/keys", AuditKeysView.as_view(), name="audit-keys"),
    path("api/events/audit/tree-heads", AuditHeadsView.as_view(), name="audit-heads"),
    path(
        "api/events/audit/tree-heads/latest",
        AuditHeadView.as_view(),
        name="audit-head",
    ),
    path(
        "api/events/audit/proof/inclusion",
        InclusionView.as_view(),
        name="audit-inclusion",
    ),
    path(
        "api/events/audit/proof/consistency",
        ConsistencyView.as_view(),
        name="audit-consistency",
    ),
    path("api/events/audit/proof/leaves", LeavesView.as_view(), name="audit-leaves"),
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
