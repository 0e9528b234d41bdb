"""Paths of this room."""

from django.urls import path

from meshmgmt.api.views import COLLECTION
from meshmgmt.control import firststeps
from meshmgmt.control.api import PeerJobsViewSet

JOBS = "api/peers/<str:peerId>/jobs"

urlpatterns = [
    *firststeps.urls(),
    path(JOBS, PeerJobsViewSet.as_view(COLLECTION), name="peer-jobs"),
    path(
        f"{JOBS}/<str:jobId>",
        PeerJobsViewSet.as_view({"get": "retrieve"}),
        name="peer-job",
    ),
]
