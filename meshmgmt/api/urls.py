"""Paths of the schema and its documentation page."""

from django.urls import path

from meshmgmt.api.documentation import DocsView, SchemaView

urlpatterns = [
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", DocsView.as_view(), name="docs"),
]
