"""The configuration of the account as one document."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.api.views import ApiView
from meshmgmt.configuration.document import as_yaml, configuration
from meshmgmt.configuration.sections import schema
from meshmgmt.core.transactions import read_snapshot


class YamlRenderer(BaseRenderer):
    """Chosen by `Accept: application/yaml`."""

    media_type = "application/yaml"
    format = "yaml"
    charset = "UTF-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the text of a document."""
        return as_yaml(data).encode()


class ConfigView(ApiView):
    """Groups, posture checks, networks, policies, routes, DNS and settings by name."""

    module = "settings"
    audited = True
    tags = ("config",)
    renderer_classes = [OrjsonRenderer, YamlRenderer]

    @extend_schema(
        operation_id="config",
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "application/yaml"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request) -> Response:
        """Return the document; equal bytes for equal configurations."""
        with read_snapshot():
            return Response(configuration())


class ConfigSchemaView(ApiView):
    """What such a document looks like."""

    module = "settings"
    tags = ("config",)

    @extend_schema(operation_id="config_schema", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Return the JSON schema."""
        return Response(schema())
