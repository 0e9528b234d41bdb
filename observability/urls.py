"""Paths for monitoring."""

from django.urls import path

from observability import views

urlpatterns = [
    path("metrics", views.MetricsView.as_view(), name="metrics"),
    path("health", views.HealthView.as_view(), name="relay-health"),
    path("livez", views.LiveView.as_view(), name="livez"),
    path("readyz", views.ReadyView.as_view(), name="readyz"),
]
