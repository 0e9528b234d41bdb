"""Request lines, response lines and HTTP metrics of every request.

Stands right behind the middleware that makes the request's id and context.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponseBase
from django_prometheus.middleware import (
    PrometheusAfterMiddleware,
    PrometheusBeforeMiddleware,
)

from observability.logs.levels import TRACE
from observability.logs.loglevels import LEVELS
from observability.logs.sqltrace import trace_sql
from observability.metrics import instruments
from observability.metrics.endpoints import endpoint_of, method_of

HTTP_LOG: Final = logging.getLogger("http")
SQL_LOG: Final = logging.getLogger("sql")

_REQUESTS: Final = instruments.counter("management.http.request.counter")
_REQUESTS_TOTAL: Final = instruments.counter("management.http.request.counter.total")
_RESPONSES: Final = instruments.counter("management.http.response.counter")
_CODES: Final = instruments.counter("management.http.response.code.total")
_DURATION: Final = instruments.histogram("management.http.request.duration.ms")

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class _Series:
    """The labelled series met so far: looking one up in the library costs a lock."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Any] = {}

    def request(self, endpoint: str, method: str) -> Any:
        key = ("request", endpoint, method)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _REQUESTS.labels(endpoint, method)
        return found

    def response(self, endpoint: str, method: str, code: str) -> tuple[Any, Any, Any]:
        key = ("response", endpoint, method, code)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (
                _RESPONSES.labels(endpoint, method, code),
                _CODES.labels(code),
                _DURATION.labels(endpoint, method),
            )
        return found


class ObservabilityMiddleware:
    """Counts, times and logs requests."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.series = _Series()
        self.log_all = settings.SVC.access_log == "all"

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, with its lines and figures."""
        begun = perf_counter()
        LEVELS.refresh_if_due()
        _REQUESTS_TOTAL.inc()
        facts = {
            "method": request.method,
            "path": request.get_full_path(),
            "source": request.META.get("REMOTE_ADDR", ""),
        }
        if self.log_all:
            HTTP_LOG.info("HTTP request", extra=facts)
        with _sql_lines():
            response = self.get_response(request)
        self._finish(request, response, facts, (perf_counter() - begun) * 1000)
        return response

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> None:
        """Count the request under its route, before the view runs."""
        del view, args, kwargs
        self.series.request(endpoint_of(request), method_of(request)).inc()

    def _finish(
        self,
        request: HttpRequest,
        response: HttpResponseBase,
        facts: dict[str, Any],
        milliseconds: float,
    ) -> None:
        endpoint, method = endpoint_of(request), method_of(request)
        if request.resolver_match is None:
            self.series.request(endpoint, method).inc()
        code = str(response.status_code)
        responses, codes, duration = self.series.response(endpoint, method, code)
        responses.inc()
        codes.inc()
        duration.observe(milliseconds)
        if self.log_all or response.status_code >= 400:  # noqa: PLR2004 - HTTP's failures
            facts["status"] = response.status_code
            facts["duration_ms"] = round(milliseconds, 1)
            facts["endpoint"] = endpoint
            HTTP_LOG.info("HTTP response", extra=facts)


def _sql_lines() -> AbstractContextManager[Any]:
    if SQL_LOG.isEnabledFor(TRACE):
        return connection.execute_wrapper(trace_sql)
    return nullcontext()


class BeforeMiddleware(PrometheusBeforeMiddleware):  # type: ignore[misc]
    """The outer half of django-prometheus."""


class AfterMiddleware(PrometheusAfterMiddleware):  # type: ignore[misc]
    """The inner half of django-prometheus, with bounded methods.

    It labels latencies with the method as sent, so a client that invents verbs could
    make series without end.
    """

    def label_metric(
        self,
        metric: Any,
        request: HttpRequest,
        response: HttpResponseBase | None = None,
        **labels: str,
    ) -> Any:
        """Return the series for `labels`, or the metric itself without any."""
        if "method" in labels:
            labels["method"] = method_of(request)
        return super().label_metric(metric, request, response, **labels)
