"""Paths of the configuration."""

from django.contrib import admin
from django.urls import path

from meshmgmt.configuration.api import ConfigSchemaView, ConfigView
from meshmgmt.configuration.comparepage import compare_page

urlpatterns = [
    path(
        "admin/events/auditevent/compare/",
        admin.site.admin_view(compare_page),
        name="admin-compare",
    ),
    path("api/config", ConfigView.as_view(), name="config"),
    path("api/config/schema", ConfigSchemaView.as_view(), name="config-schema"),
]
