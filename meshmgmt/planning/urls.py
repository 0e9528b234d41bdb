"""Paths of plans and of going back."""

from django.urls import path

from meshmgmt.planning.api.views import RevertView

urlpatterns = [
    path(
        "api/events/audit/<str:event_id>/revert",
        RevertView.as_view(),
        name="audit-event-revert",
    ),
]
