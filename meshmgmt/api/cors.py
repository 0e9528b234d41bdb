"""Cross-origin requests: off unless `SVC_CORS_ALLOWED_ORIGINS` names origins."""

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
ALLOWED_HEADERS: Final = (
    "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-None-Match,"
    " X-Plan-Hash"
)
EXPOSED_HEADERS: Final = (
    "X-Request-Id, Link, X-Total-Count, X-Total-Count-Precision, Retry-After,"
    " Idempotency-Replayed, ETag, X-Search-Scope, Audit-Tree-Head"
)
PREFLIGHT_SECONDS: Final = 600


class CorsMiddleware:
    """Answers preflights and marks answers to allowed origins (Fetch standard)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.allowed = settings.SVC.cors_allowed_origins
        if not self.allowed:
            raise MiddlewareNotUsed

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle a request under `/api`; others are never shared."""
        if not request.path.startswith("/api/"):
            return self.get_response(request)
        origin = request.headers.get("Origin", "")
        granted = (
            "*" if "*" in self.allowed else origin if origin in self.allowed else ""
        )
        preflight = (
            request.method == "OPTIONS"
            and "Access-Control-Request-Method" in request.headers
        )
        # 204 as the reference answers it; a preflight never has a token.
        response = HttpResponse(status=204) if preflight else self.get_response(request)
        # Also where it is not granted, or a cache would give that answer to who may.
        patch_vary_headers(response, ["Origin"])
        if origin and granted:
            response["Access-Control-Allow-Origin"] = granted
            response["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
            if preflight:
                response["Access-Control-Allow-Methods"] = METHODS
                response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
                response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        return response
