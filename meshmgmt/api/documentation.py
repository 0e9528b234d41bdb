"""The OpenAPI document and a page to read it, as `SVC_API_DOCS` allows."""

import hashlib
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.encoding import force_bytes
from django.utils.http import quote_etag
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from meshmgmt.api.limits import LimitedView
from meshmgmt.api.pages import accepts_html
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
        return JsonResponse({"methods": self.allowed_methods})


class SchemaView(DocumentationView, SpectacularAPIView):
    """OpenAPI 3.1 document of this service, as YAML or (`?format=json`) JSON."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Return JSON when the query or the header ask for it, else YAML."""
        wanted = request.query_params.get("format", "")
        offered = self.get_renderers()
        chosen = [each for each in offered if each.format == wanted]
        return DefaultContentNegotiation().select_renderer(request, chosen or offered)

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the document, or 304 to who has it; it is made once in each process."""
        renderer, media_type = self.perform_content_negotiation(request)
        made = document(type(renderer))
        suffix = renderer.format
        response = HttpResponse(
            made.body,
            content_type=media_type,
            headers={
                "Content-Disposition": f'inline; filename="schema.{suffix}"',
                "ETag": made.etag,
                "Cache-Control": "no-cache",
            },
        )
        patch_vary_headers(response, ["Accept"])
        return get_conditional_response(request, made.etag, response=response)  # type: ignore[return-value]  # None for None alone


class DocsView(DocumentationView):
    """A page to read and try the API; all its files are served locally."""

    @extend_schema(responses={(200, "text/html"): OpenApiTypes.STR})
    def get(self, request: Request) -> HttpResponse:
        """Return the page."""
        return render(request, "pages/docs.html")

    def handle_exception(self, exc: Exception) -> Any:
        """Let people sign in where the page is not for everybody."""
        if isinstance(exc, NotAuthenticated) and accepts_html(self.request):
            return redirect_to_login(self.request.path, reverse("admin:login"))
        return super().handle_exception(exc)


@dataclass(frozen=True, slots=True)
class Document:
    """The OpenAPI document in one form; `etag` is quoted."""

    body: bytes
    etag: str


_making: Final = Lock()
_documents: Final[dict[type, Document]] = {}


def document(renderer: type[BaseRenderer]) -> Document:
    """Return the document in the renderer's form.

    It depends on no request, and takes more than a second to make.
    """
    # One thread makes it while the others wait: at once it would take them all longer.
    with _making:
        if renderer not in _documents:
            schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
            body = force_bytes(renderer().render(schema, renderer_context={}))
            etag = quote_etag(hashlib.sha256(body).hexdigest()[:32])
            _documents[renderer] = Document(body, etag)
        return _documents[renderer]
