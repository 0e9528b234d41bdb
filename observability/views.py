"""`/metrics`, `/health`, `/livez` and `/readyz`: for machines, without a token."""

import ipaddress
from functools import cache, partial
from typing import Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.views import View
from rest_framework.exceptions import APIException

from meshmgmt.api.exceptions import error_answer
from meshmgmt.api.permissions import ModulePermission
from meshmgmt.api.renderers import CONTENT_TYPE, to_json
from meshmgmt.api.views import ApiView
from meshmgmt.core.addresses import host_of
from meshmgmt.core.errors import ServiceError
from observability.health import readiness
from observability.health.relay import relay_health
from observability.metrics import exposition
from observability.metrics.readers import Readers
from observability.metrics.scrape import Scraper

_FORWARDED: Final = (
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "Forwarded",
    "X-Real-Ip",
    "Via",
)


class _EventsView(ApiView):
    """Stands for the permission to read events."""

    module = "events"


def may_read_events(request: HttpRequest) -> bool:
    """Tell whether the request carries credentials good for reading events.

    Raises DatabaseError or InterfaceError when the database cannot be asked.
    """
    view = _EventsView()
    view.setup(request)
    wrapped = view.initialize_request(request)
    try:
        return ModulePermission().has_permission(wrapped, view)
    except (ServiceError, APIException):
        return False


def is_direct_loopback(request: HttpRequest) -> bool:
    """Tell whether the caller sits on this host and no proxy stands between."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    address = host_of(str(request.META.get("REMOTE_ADDR", "")))
    return bool(address) and ipaddress.ip_address(address).is_loopback


@cache
def _scraper() -> Scraper:
    return Scraper(settings.SVC)


_readers: Final = cache(Readers)


class MetricsView(View):
    """Metrics on the API port, for callers on this host or with a token."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer with all workers' figures; 404 hides them from others."""
        if not is_direct_loopback(request) and not self._may_read(request):
            return error_answer(request, "this path was not found", 404)
        return HttpResponse(_scraper().text(), content_type=exposition.CONTENT_TYPE)

    def _may_read(self, request: HttpRequest) -> bool:
        shown = (request.headers.get(name, "") for name in ("Authorization", "Cookie"))
        credentials = "\n".join(shown)
        return _readers().allows(credentials, partial(may_read_events, request))


class HealthView(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer 200 when the relay is healthy or none is configured, else 503."""
        listeners = settings.SVC.relay_listeners
        health = relay_health(listeners, settings.SVC.runtime_dir)
        status = 503 if listeners and not health.healthy else 200
        return _json(health.body(), status)


class LiveView(View):
    """Does this process answer at all?"""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer 200, whatever the state of the database."""
        return _json({"status": "alive"}, 200)


class ReadyView(View):
    """Should this server get requests?"""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer 200 or 503; `?verbose` with a token that may read events says why."""
        found = readiness.findings()
        ready = readiness.is_ready(found)
        body: dict[str, object] = {"status": "ready" if ready else "not ready"}
        body["checks"] = {f.name: "failed" if f.problem else "ok" for f in found}
        if "verbose" in request.GET and _may_see_details(request):
            body["details"] = {f.name: f.problem for f in found if f.problem}
        return _json(body, 200 if ready else 503)


def _may_see_details(request: HttpRequest) -> bool:
    try:
        return may_read_events(request)
    except (DatabaseError, InterfaceError):
        return False  # whose token this is cannot be known now


def _json(body: object, status: int) -> HttpResponse:
    response = HttpResponse(to_json(body), status=status, content_type=CONTENT_TYPE)
    response["Cache-Control"] = "no-store"
    return response
