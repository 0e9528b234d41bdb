"""Paths of plans and of going back."""

from django.urls import path

from meshmgmt.planning import adminpages
from meshmgmt.planning.api.config import ConfigSchemaView, ConfigView
from meshmgmt.planning.api.views import RevertView

urlpatterns = [
    *adminpages.urls(),
    path("api/config", ConfigView.as_view(), name="config"),
    path("api/config/schema", ConfigSchemaView.as_view(), name="config-schema"),
    path(
        "api/events/audit/<str:event_id>/revert",
        RevertView.as_view(),
        name="audit-event-revert",
    ),
]
