"""The service's paths and those of views that do nothing, or only authenticate."""

from django.http import HttpRequest, HttpResponse
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


def plain(request: HttpRequest) -> HttpResponse:
    """Answer `{}` to anybody, without DRF."""
    del request
    return HttpResponse("{}", headers={"Content-Length": "2"})


class EmptyView(ApiView):
    """Answers `{}` to anybody with a token."""

    def get(self, request: Request) -> Response:
        """Do nothing."""
        return Response({})

    def post(self, request: Request) -> Response:
        """Do nothing."""
        return Response({})


class PublicView(EmptyView):
    """Answers `{}` to anybody."""

    public_methods = ("GET",)


urlpatterns = [
    path("bench/first", plain),
    path("api/bench/empty", EmptyView.as_view()),
    *service_urlpatterns,
    path("api/bench/public", PublicView.as_view()),
    path("bench/last", plain),
]
