"""The service's paths and `/api/bench/empty`, which only authenticates."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.views import ApiView
from meshmgmt.urls import (
    handler400,
    handler403,
    handler404,
    handler500,
)
from meshmgmt.urls import (
    urlpatterns as service_urlpatterns,
)

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]


class EmptyView(ApiView):
    """Answers `{}` to anybody with a token."""

    def post(self, request: Request) -> Response:
        """Do nothing."""
        return Response({})


urlpatterns = [path("api/bench/empty", EmptyView.as_view()), *service_urlpatterns]
