"""The OpenAPI document and a page to read it, as `SVC_API_DOCS` allows."""

from typing import Any

from django.conf import settings
from django.http import HttpResponseBase
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from meshmgmt.api.negotiation import Negotiation
from meshmgmt.api.permissions import ModulePermission
from meshmgmt.core.errors import NotFound


class DocsPermission(BasePermission):
    """Anyone, token holders or nobody: `SVC_API_DOCS=public|token|off`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raise NotFound when the documentation is off."""
        if settings.SVC.api_docs == "off":
            raise NotFound("the API documentation is off and therefore not found")
        if settings.SVC.api_docs == "token":
            return ModulePermission().has_permission(request, view)
        return True


class SchemaView(SpectacularAPIView):
    """OpenAPI 3.1 document of this service, as YAML or (`?format=json`) JSON."""

    permission_classes = [DocsPermission]

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Return JSON when the query or the header ask for it, else YAML."""
        from rest_framework.negotiation import (  # noqa: PLC0415
            DefaultContentNegotiation,
        )

        return DefaultContentNegotiation().select_renderer(
            request, self.get_renderers()
        )


class DocsView(SpectacularSwaggerView):
    """A page to read and try the API; all its files are served locally."""

    permission_classes = [DocsPermission]
    content_negotiation_class = Negotiation
    url_name = "schema"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the page."""
        page: HttpResponseBase = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        return page
