"""Jobs of peers over HTTP."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
)
from meshmgmt.api.views import ResourceViewSet, path_id
from meshmgmt.control import jobrules
from meshmgmt.control.models import JobStatus
from meshmgmt.control.services.jobs import job_create, job_rows
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.queries import found
from meshmgmt.core.resources import Row
from meshmgmt.inventory.models import Peer


class BundleParametersSerializer(ObjectSerializer):
    """What goes into a debug bundle."""

    bundle_for = TruthField(default=False, help_text="Wait for some minutes first.")
    bundle_for_time = WholeNumberField(
        default=0,
        help_text=f"Minutes, 1 to {jobrules.LONGEST_MINUTES} with `bundle_for`.",
    )
    log_file_count = WholeNumberField(
        help_text=f"How many of the newest log files, 1 to {jobrules.MOST_LOG_FILES}."
    )
    anonymize = TruthField(default=False, help_text="Replace addresses and names.")
    anonymize_level = TextField(
        required=False, help_text=f"One of {', '.join(filter(None, jobrules.LEVELS))}."
    )


@extend_schema_field({"type": "string", "enum": [jobrules.BUNDLE]})
class WorkloadTypeField(TextField):
    """What kind of work it is."""


class WorkloadRequestSerializer(ObjectSerializer):
    """What a peer is asked to do."""

    type = WorkloadTypeField()
    parameters = BundleParametersSerializer()


class JobRequestSerializer(ObjectSerializer):
    """A job as a client asks for it."""

    workload = WorkloadRequestSerializer()


class BundleResultSerializer(serializers.Serializer[Any]):
    """What became of a debug bundle."""

    upload_key = serializers.CharField(
        allow_null=True, help_text="Where it was uploaded to, null until it was."
    )


class WorkloadSerializer(serializers.Serializer[Any]):
    """What a peer was asked to do, and the result."""

    type = serializers.ChoiceField(choices=[jobrules.BUNDLE])
    parameters = BundleParametersSerializer()
    result = BundleResultSerializer()


class JobSerializer(serializers.Serializer[Any]):
    """A job of a peer."""

    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True)
    triggered_by = serializers.CharField(help_text="The user who asked.")
    status = serializers.ChoiceField(choices=JobStatus.values)
    failed_reason = serializers.CharField(allow_null=True)
    workload = WorkloadSerializer()


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
        raise_field_errors(jobrules.workload_errors(workload["type"], parameters))
        return job_create(peer_id=self._peer_id, parameters=parameters).pk

    @property
    def _peer_id(self) -> str:
        return path_id("peer", self.kwargs["peerId"])
