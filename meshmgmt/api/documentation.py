"""The OpenAPI document and a page to read it, as `SVC_API_DOCS` allows."""

from typing import Any

from django.conf import settings
from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from meshmgmt.api.limits import LimitedView
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


class DocumentationView(LimitedView):
    """Looks at credentials only where the documentation asks for them.

    The page's template reads `request.user`, which must not fail for a bad token that
    nobody asked for.
    """

    permission_classes = [DocsPermission]

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Return none for a documentation that is public."""
        return super().get_authenticators() if settings.SVC.api_docs == "token" else []

    def options(self, request: Request, *args: Any, **kwargs: Any) -> JsonResponse:  # type: ignore[override]
        """Answer with the methods of this path."""
        methods = self.allowed_methods
        return JsonResponse({"methods": methods}, headers={"Allow": ", ".join(methods)})


class SchemaView(DocumentationView, SpectacularAPIView):
    """OpenAPI 3.1 document of this service, as YAML or (`?format=json`) JSON."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Return JSON when the query or the header ask for it, else YAML."""
        from rest_framework.negotiation import (  # noqa: PLC0415
            DefaultContentNegotiation,
        )

        return DefaultContentNegotiation().select_renderer(
            request, self.get_renderers()
        )


class DocsView(DocumentationView, SpectacularSwaggerView):
    """A page to read and try the API; all its files are served locally."""

    content_negotiation_class = Negotiation
    url_name = "schema"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the page."""
        page: HttpResponseBase = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        return page
