"""Paths of the schema, its page, and the parts that are not here."""

from django.urls import path

from meshmgmt.api.absent import EventStreamingView, ProxyPartsView
from meshmgmt.api.documentation import DocsView, SchemaView

urlpatterns = [
    path("api/integrations/event-streaming", EventStreamingView.as_view()),
    path("api/reverse-proxies/clusters", ProxyPartsView.as_view()),
    path("api/reverse-proxies/domains", ProxyPartsView.as_view()),
    path("api/reverse-proxies/services", ProxyPartsView.as_view()),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", DocsView.as_view(), name="docs"),
]
