"""Request lines, response lines and HTTP metrics of every request.

Stands right behind the middleware that makes the request's id and context.
"""

import logging
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache
from time import perf_counter
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django_prometheus.middleware import PrometheusAfterMiddleware

from meshmgmt.api.middleware import NOT_ALLOWED
from meshmgmt.api.permissions import OPERATIONS
from meshmgmt.core import context
from observability.logs.loglevels import LEVELS, TRACE
from observability.metrics import instruments

UNMATCHED: Final = "unmatched"
UNAUTHENTICATED: Final = "unauthenticated"
"""Stands for the endpoint of all that strangers were refused."""
UNNAMED: Final = "<unnamed view>"
"""What django-prometheus calls the view of a path that leads to none."""
OTHER: Final = "other"
UNAUTHORIZED: Final = 401
REFUSALS: Final = frozenset({NOT_ALLOWED, 429})
_PARAMETER: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")


@lru_cache(maxsize=4096)
def template(route: str) -> str:
    """Return a route as the reference writes it: `/api/zones/zoneId`.

    Parameters lose their brackets and converters and are written in camel case.
    """
    plain = re.sub(r"\(\?P(<\w+>)(?:[^()]|\([^()]*\))*\)", r"\1", route.strip("^$"))
    named = _PARAMETER.sub(lambda match: _camel(match[1]), plain)
    return "/" + named.replace("\\", "").rstrip("?$").strip("/")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def endpoint_of(request: HttpRequest) -> str:
    """Return the route of a request, as logs and traces name it.

    What was answered before the URL was resolved (a preflight, a refused host) is
    resolved here; such answers are rare.
    """
    match: ResolverMatch | None = request.resolver_match
    if match is None:
        try:
            match = resolve(request.path_info)
        except Resolver404:
            return UNMATCHED
    return template(match.route)


def method_of(request: HttpRequest) -> str:
    """Return the method as label; verbs nobody knows share one."""
    return request.method if request.method in OPERATIONS else OTHER


def answered_labels(
    request: HttpRequest, response: HttpResponseBase
) -> tuple[str, str]:
    """Return endpoint and method as labels of what was answered.

    Every pair is a dozen series or more, histograms included. So those who are nobody here
    must not be able to make one for each route and verb: what was refused them is counted
    under one endpoint, and so is what was answered before the path was looked at. A verb
    that a path does not serve is `other`.
    """
    code = response.status_code
    if request.resolver_match is None:
        endpoint = UNMATCHED
    elif code == UNAUTHORIZED or (code in REFUSALS and not context.current().user_id):
        endpoint = UNAUTHENTICATED
    else:
        endpoint = template(request.resolver_match.route)
    return endpoint, OTHER if code == NOT_ALLOWED else method_of(request)


HTTP_LOG: Final = logging.getLogger("http")
SQL_LOG: Final = logging.getLogger("sql")

_REQUESTS: Final = instruments.counter("management.http.request.counter")
_REQUESTS_TOTAL: Final = instruments.counter("management.http.request.counter.total")
_RESPONSES: Final = instruments.counter("management.http.response.counter")
_CODES: Final = instruments.counter("management.http.response.code.total")
_DURATION: Final = instruments.histogram("management.http.request.duration.ms")

GetResponse = Callable[[HttpRequest], HttpResponseBase]


# Series are kept: looking one up in the library costs a lock.
@cache
def _series_of(endpoint: str, method: str, code: str) -> tuple[Any, ...]:
    return (
        _REQUESTS.labels(endpoint, method),
        _RESPONSES.labels(endpoint, method, code),
        _CODES.labels(code),
        _DURATION.labels(endpoint, method),
    )


class ObservabilityMiddleware:
    """Counts, times and logs requests."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.log_all = settings.SVC.access_log == "all"

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, with its lines and figures."""
        begun = perf_counter()
        LEVELS.refresh_if_due()
        _REQUESTS_TOTAL.inc()
        facts = {
            "method": request.method,
            "path": request.get_full_path(),
            "source": context.current().source_address,
        }
        if self.log_all:
            HTTP_LOG.info("HTTP request", extra=facts)
        with _sql_lines():
            response = self.get_response(request)
        self._finish(request, response, facts, (perf_counter() - begun) * 1000)
        return response

    def _finish(
        self,
        request: HttpRequest,
        response: HttpResponseBase,
        facts: dict[str, Any],
        milliseconds: float,
    ) -> None:
        endpoint, method = answered_labels(request, response)
        code = str(response.status_code)
        requests, responses, codes, duration = _series_of(endpoint, method, code)
        requests.inc()
        responses.inc()
        codes.inc()
        duration.observe(milliseconds)
        if self.log_all or response.status_code >= 400:  # noqa: PLR2004 - HTTP's failures
            facts["status"] = response.status_code
            facts["duration_ms"] = round(milliseconds, 1)
            facts["endpoint"] = endpoint_of(request)
            HTTP_LOG.info("HTTP response", extra=facts)


def _sql_lines() -> AbstractContextManager[Any]:
    if SQL_LOG.isEnabledFor(TRACE):
        return connection.execute_wrapper(_trace_sql)
    return nullcontext()


def _trace_sql(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, facts: Any
) -> Any:
    """Run a statement, and tell of it without its values: those may be secrets."""
    begun = perf_counter()
    try:
        return execute(sql, params, many, facts)
    finally:
        milliseconds = round((perf_counter() - begun) * 1000, 2)
        SQL_LOG.log(TRACE, "SQL %s", sql, extra={"duration_ms": milliseconds})


class AfterMiddleware(PrometheusAfterMiddleware):  # type: ignore[misc]
    """The inner half of django-prometheus, with bounded labels, looked up once.

    It labels latencies with the method as sent, and every refusal with the view that was
    asked for, so a client could make series without end.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self._asked = cache(self._asked_series)
        self._answered = cache(self._answered_series)

    def _asked_series(self, method: str, transport: str) -> tuple[Any, ...]:
        return (
            self.metrics.requests_by_method.labels(method),
            self.metrics.requests_by_transport.labels(transport),
        )

    def _answered_series(
        self, view: str, transport: str, method: str, code: str, charset: str
    ) -> tuple[Any, ...]:
        known = self.metrics
        by_view = known.requests_by_view_transport_method
        return (
            known.requests_latency_by_view_method.labels(view, method),
            known.responses_by_status.labels(code),
            known.responses_by_status_view_method.labels(code, view, method),
            known.responses_by_charset.labels(charset),
            *([by_view.labels(view, transport, method)] if view != UNNAMED else ()),
        )

    def process_request(self, request: HttpRequest) -> None:
        """Count what is asked, and begin to time it."""
        for series in self._asked(method_of(request), self._transport(request)):
            series.inc()
        if request.headers.get("X-Requested-With") == "XMLHttpRequest":
            self.metrics.requests_ajax.inc()
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        self.metrics.requests_body_bytes.observe(length)
        # Where the library looks for it, too.
        request.prometheus_after_middleware_event = perf_counter()  # type: ignore[attr-defined]

    def process_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Count nothing: the labels depend on the answer."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Count what was answered; how long it took, unless nobody looked for a view."""
        endpoint, method = answered_labels(request, response)
        unseen = endpoint == UNAUTHENTICATED
        view = endpoint if unseen else self._get_view_name(request)
        code, charset = str(response.status_code), str(response.charset)
        transport = self._transport(request)
        latency, *counters = self._answered(view, transport, method, code, charset)
        for series in counters:
            series.inc()
        if isinstance(response, HttpResponse):
            self.metrics.responses_body_bytes.observe(len(response.content))
        else:
            self.metrics.responses_streaming.inc()
        begun = getattr(request, "prometheus_after_middleware_event", None)
        if begun is None:
            self.metrics.requests_unknown_latency.inc()
        else:
            latency.observe(perf_counter() - begun)
        return response
