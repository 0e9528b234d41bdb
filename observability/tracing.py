"""Traces of requests by OpenTelemetry; loaded only when `SVC_OTEL_ENDPOINT` is set.

Needs the packages of `requirements/otel.txt`. A span never holds a path as sent, a
query, a header or a value of a statement: those may be secrets. Sampling, resource,
headers and timeouts follow OpenTelemetry's own `OTEL_*` variables.
"""

import os
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponseBase
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import meshmgmt
from meshmgmt.api.middleware import from_trusted_proxy
from meshmgmt.core import context
from observability.middleware import endpoint_of, method_of

PATH: Final = "/v1/traces"
MAX_STATEMENT: Final = 2000  # characters; a bulk insert has a placeholder per value

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def _tracer(endpoint: str) -> trace.Tracer:
    """Return a tracer whose spans a thread of this process sends in batches."""
    # What the operator has set holds.
    os.environ.setdefault("OTEL_SERVICE_NAME", "meshmgmt")
    # A worker that ends waits as long for a collector that is away.
    os.environ.setdefault("OTEL_EXPORTER_OTLP_TIMEOUT", "3")
    resource = Resource.create({"service.version": meshmgmt.__version__})
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}{PATH}")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer("meshmgmt", meshmgmt.__version__)


class TracingMiddleware:
    """One span per request, one below it per SQL statement.

    Stands right behind the middleware that makes the request's id. Made in each worker
    after its fork, so that the sending thread is the worker's own.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.tracer = _tracer(settings.SVC.otel_endpoint)
        self.statements = _Statements(self.tracer)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request within a span."""
        method = method_of(request)
        with self.tracer.start_as_current_span(
            method, context=_parent(request), kind=trace.SpanKind.SERVER
        ) as span:
            if not span.is_recording():
                return self.get_response(request)
            span.set_attribute("request_id", context.current().request_id)
            with connection.execute_wrapper(self.statements):
                response = self.get_response(request)
            endpoint = endpoint_of(request)
            span.update_name(f"{method} {endpoint}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", endpoint)
            span.set_attribute("http.response.status_code", response.status_code)
            if response.status_code >= 500:  # noqa: PLR2004 - HTTP's own failures
                span.set_status(trace.StatusCode.ERROR)
            return response


def _parent(request: HttpRequest) -> Context:
    """Return the caller's trace, which counts from trusted proxies alone."""
    if not from_trusted_proxy(request):
        return Context()
    carrier = {
        name: request.headers[name]
        for name in ("traceparent", "tracestate")
        if name in request.headers
    }
    return TraceContextTextMapPropagator().extract(carrier, Context())


class _Statements:
    """Runs each statement within a span that holds its text without the values."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self.tracer = tracer

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, facts: Any
    ) -> Any:
        """Run one statement, as Django's `execute_wrapper` asks."""
        with self.tracer.start_as_current_span(
            sql.lstrip()[:20].partition(" ")[0].upper() or "SQL",
            kind=trace.SpanKind.CLIENT,
            record_exception=False,  # its message may quote values
            set_status_on_exception=False,
        ) as span:
            span.set_attribute("db.system.name", connection.vendor)
            span.set_attribute("db.query.text", sql[:MAX_STATEMENT])
            try:
                return execute(sql, params, many, facts)
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)
                raise
