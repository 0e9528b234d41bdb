"""Bodies of jobs."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from meshmgmt.api.fields import (
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
)
from meshmgmt.control.jobrules import BUNDLE, LEVELS, LONGEST_MINUTES, MOST_LOG_FILES
from meshmgmt.control.models import JobStatus


class BundleParametersSerializer(ObjectSerializer):
    """What goes into a debug bundle."""

    bundle_for = TruthField(default=False, help_text="Wait for some minutes first.")
    bundle_for_time = WholeNumberField(
        default=0, help_text=f"Minutes, 1 to {LONGEST_MINUTES} with `bundle_for`."
    )
    log_file_count = WholeNumberField(
        help_text=f"How many of the newest log files, 1 to {MOST_LOG_FILES}."
    )
    anonymize = TruthField(default=False, help_text="Replace addresses and names.")
    anonymize_level = TextField(
        required=False, help_text=f"One of {', '.join(filter(None, LEVELS))}."
    )


@extend_schema_field({"type": "string", "enum": [BUNDLE]})
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

    type = serializers.ChoiceField(choices=[BUNDLE])
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
