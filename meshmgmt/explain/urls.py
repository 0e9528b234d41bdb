"""Paths of answers about what peers get, and of their pages in the admin site."""

from django.contrib import admin
from django.urls import path

from meshmgmt.explain.admin import (
    explain_page,
    graph_page,
    lint_page,
    names_page,
    peer_page,
    reach_page,
)
from meshmgmt.explain.api.reports import (
    AccessGraphView,
    AccessiblePeersView,
    ExplainView,
    LintView,
    PeerDnsView,
    ReachView,
)

_view = admin.site.admin_view

urlpatterns = [
    path("admin/dns/zone/explain/", _view(explain_page), name="admin-dns-explain"),
    path("admin/dns/zone/lint/", _view(lint_page), name="admin-dns-lint"),
    path("admin/dns/zone/peer/<str:peer_id>/", _view(peer_page), name="admin-dns-peer"),
    path("admin/access/reach/", _view(reach_page), name="admin-reach"),
    path("admin/access/reach/names/", _view(names_page), name="admin-reach-names"),
    path("admin/access/graph/", _view(graph_page), name="admin-graph"),
    path("api/access/explain", ReachView.as_view()),
    path("api/access/graph", AccessGraphView.as_view()),
    path("api/dns/explain", ExplainView.as_view()),
    path("api/dns/lint", LintView.as_view()),
    path("api/peers/<str:peerId>/dns", PeerDnsView.as_view()),
    path("api/peers/<str:peerId>/accessible-peers", AccessiblePeersView.as_view()),
]
