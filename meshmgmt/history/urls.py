"""Paths of looking at writes and of taking them back."""

from django.contrib import admin
from django.urls import path

from meshmgmt.history.api import RevertView
from meshmgmt.history.revertpage import revert_page
from meshmgmt.history.saved import saved_page

urlpatterns = [
    path(
        "admin/events/auditevent/<str:event_id>/take-back/",
        admin.site.admin_view(revert_page),
        name="admin-audit-revert",
    ),
    path(
        "admin/events/auditevent/<str:event_id>/peers/",
        admin.site.admin_view(saved_page),
        name="admin-saved",
    ),
    path(
        "api/events/audit/<str:event_id>/revert",
        RevertView.as_view(),
        name="audit-event-revert",
    ),
]
