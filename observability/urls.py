"""Paths for monitoring."""

from django.contrib import admin
from django.urls import path

from observability import views
from observability.admin import log_level_page, metrics_page

urlpatterns = [
    path("metrics", views.MetricsView.as_view(), name="metrics"),
    path("health", views.HealthView.as_view(), name="relay-health"),
    path("livez", views.LiveView.as_view(), name="livez"),
    path("readyz", views.ReadyView.as_view(), name="readyz"),
    path("admin/metrics/", admin.site.admin_view(metrics_page), name="admin-metrics"),
    path(
        "admin/metrics/log-level/",
        admin.site.admin_view(log_level_page),
        name="admin-log-level",
    ),
]
