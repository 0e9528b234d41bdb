"""Jobs of peers."""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.views import ResourceViewSet, path_id
from meshmgmt.control.api.serializers import JobRequestSerializer, JobSerializer
from meshmgmt.control.jobrules import workload_errors
from meshmgmt.control.services.jobs import job_create, job_rows
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.queries import found
from meshmgmt.core.resources import Row
from meshmgmt.inventory.models import Peer


class PeerJobsViewSet(ResourceViewSet):
    """What a peer was asked to do, newest first."""

    kind = "job"
    lookup_url_kwarg = "jobId"
    module = "remote_jobs"
    tags = ("peers",)
    plannable = False  # a machine acts upon it
    serializer_class = JobSerializer
    request_serializer_class = JobRequestSerializer

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        return job_rows(self._peer_id, ids)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return what the peer was asked in the last 30 days, newest first."""
        return super().list(request, *args, **kwargs)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Ask a peer for a debug bundle, which it uploads where its client's maker says."""
        found(Peer, self._peer_id, kind="peer")
        return super().create(request, *args, **kwargs)

    def create_object(self, data: dict[str, Any]) -> str:
        """Ask the peer."""
        workload = data["workload"]
        parameters = workload["parameters"]
        raise_field_errors(workload_errors(workload["type"], parameters))
        return job_create(peer_id=self._peer_id, parameters=parameters).pk

    @property
    def _peer_id(self) -> str:
        return path_id("peer", self.kwargs["peerId"])
