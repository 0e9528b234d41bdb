"""Paths of answers about what peers get, and of their pages in the admin site."""

from django.contrib import admin
from django.urls import path

from meshmgmt.explain.admin import questions
from meshmgmt.explain.admin.graph import graph_page
from meshmgmt.explain.api.reports import (
    AccessGraphView,
    AccessiblePeersView,
    ExplainView,
    LintView,
    PeerDnsView,
    ReachView,
)

urlpatterns = [
    *questions.urls(),
    path(
        "admin/access/graph/",
        admin.site.admin_view(graph_page),
        name="admin-graph",
    ),
    path("api/access/explain", ReachView.as_view()),
    path("api/access/graph", AccessGraphView.as_view()),
    path("api/dns/explain", ExplainView.as_view()),
    path("api/dns/lint", LintView.as_view()),
    path("api/peers/<str:peerId>/dns", PeerDnsView.as_view()),
    path("api/peers/<str:peerId>/accessible-peers", AccessiblePeersView.as_view()),
]
