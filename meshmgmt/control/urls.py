"""Paths of this room."""

from django.contrib import admin
from django.urls import path

from meshmgmt.api.views import COLLECTION
from meshmgmt.control.api import PeerJobsViewSet
from meshmgmt.control.firststeps import dismiss

JOBS = "api/peers/<str:peerId>/jobs"

urlpatterns = [
    path(
        "admin/first-steps/dismiss/",
        admin.site.admin_view(dismiss),
        name="admin-first-steps",
    ),
    path(JOBS, PeerJobsViewSet.as_view(COLLECTION), name="peer-jobs"),
    path(
        f"{JOBS}/<str:jobId>",
        PeerJobsViewSet.as_view({"get": "retrieve"}),
        name="peer-job",
    ),
]
