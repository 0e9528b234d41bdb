"""Parts of the reference API that this service does not have.

Web interfaces ask for them on ordinary pages, so their lists are there, and empty.
"""

from typing import Any

from drf_spectacular.plumbing import build_array_type, build_object_type
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import NotFound


class ReadOnlyView(ApiView):
    """Can be read; whoever would write finds nothing to write to (404)."""

    def http_method_not_allowed(
        self, request: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Refuse a write."""
        raise NotFound("not found: this service has nothing to change here")


class EmptyListView(ReadOnlyView):
    """A list of what this service does not have."""

    @extend_schema(responses={200: build_array_type(build_object_type(), max_length=0)})
    def get(self, request: Request, **kwargs: Any) -> Response:
        """Return an empty list."""
        return Response([])


class ProxyPartsView(EmptyListView):
    """Services, clusters and domains of the reverse proxy, configured elsewhere."""

    module = "services"
    tags = ("reverse-proxies",)


class EventStreamingView(EmptyListView):
    """Integrations that events are streamed to."""

    module = "events"
    tags = ("integrations",)
