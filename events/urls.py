"""Paths of the event streams."""

from typing import Final

from django.urls import path
from django.views import View

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
from events.api.summaries import AuditSummaryView, ProxySummaryView, TrafficSummaryView

_PATHS: Final[tuple[tuple[str, type[View], str], ...]] = (
    ("", AuditEventsView, "events"),
    ("/audit", AuditEventsView, "audit-events"),
    ("/audit/summary", AuditSummaryView, "audit-summary"),
    ("/audit/keys", AuditKeysView, "audit-keys"),
    ("/audit/tree-heads", AuditHeadsView, "audit-heads"),
    ("/audit/tree-heads/latest", AuditHeadView, "audit-head"),
    ("/audit/proof/inclusion", InclusionView, "audit-inclusion"),
    ("/audit/proof/consistency", ConsistencyView, "audit-consistency"),
    ("/audit/proof/leaves", LeavesView, "audit-leaves"),
    ("/audit/<str:event_id>", AuditEventView, "audit-event"),
    ("/network-traffic", TrafficEventsView, "network-traffic"),
    ("/network-traffic/summary", TrafficSummaryView, "network-traffic-summary"),
    ("/proxy", ProxyEntriesView, "proxy-entries"),
    ("/proxy/summary", ProxySummaryView, "proxy-summary"),
)

urlpatterns = [
    path(f"api/events{route}", view.as_view(), name=name)
    for route, view, name in _PATHS
]
