"""Endpoints of the two big streams: pages and ingest."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from events.api.exports import CsvRenderer, NdjsonRenderer, export
from events.api.filters import (
    ProxyFilterSet,
    StreamFilterBackend,
    StreamFilterSet,
    TrafficFilterSet,
)
from events.api.pagination import (
    SCOPE_HEADER,
    ProxyPagination,
    StreamPagination,
    TrafficPagination,
)
from events.api.queries import parameters_of
from events.api.serializers import (
    ProxyPageSerializer,
    SentProxyEntrySerializer,
    SentTrafficEventSerializer,
    StoredSerializer,
    TrafficPageSerializer,
)
from events.models import ProxyEntry, TrafficEvent
from events.search import SHORT_SEARCH_ROWS
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.exports import csv_pieces, every_text, ndjson_pieces
from meshmgmt.api.bodies import read_body
from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.api.views import ApiView
from meshmgmt.core.transactions import read_snapshot


class StreamView(ApiView, GenericAPIView[Any]):
    """Reads pages of a stream, takes batches in."""

    module = "events"
    max_body_bytes = batches.MAX_BODY_BYTES
    repeatable = True  # events have ids
    reads_long = True
    renderer_classes = [OrjsonRenderer, NdjsonRenderer, CsvRenderer]
    filter_backends = [StreamFilterBackend]
    stream: ClassVar[Stream]
    filterset_class: ClassVar[type[StreamFilterSet]]
    filterset: StreamFilterSet
    paginator: StreamPagination

    def get_renderers(self) -> list[BaseRenderer]:
        """Return the forms of an answer: exports are for reading."""
        reading = self.request.method == "GET"
        return super().get_renderers() if reading else [OrjsonRenderer()]

    @property
    def token_scopes(self) -> tuple[str, ...]:  # type: ignore[override]  # by method
        """Tokens for ingest may write here and ask how; they read nothing."""
        return ("ingest",) if self.request.method in {"POST", "OPTIONS"} else ()

    def get(self, request: Request) -> HttpResponseBase:
        """Return one page, newest first unless sorted otherwise, or an export."""
        matching = self.filter_queryset(self.get_queryset())
        kind = getattr(request.accepted_renderer, "format", "json")
        if kind != "json":
            return self._export(kind, matching)
        with read_snapshot():
            page: Any = self.paginate_queryset(matching)
        return self.get_paginated_response(page)

    def _export(self, kind: str, matching: QuerySet[Any]) -> HttpResponseBase:
        """Return everything that matches, or the page that was asked for, as a file."""
        page = self.paginator.asked_page(matching)
        texts = every_text(self.stream, matching) if page is None else iter([page])
        pieces = (
            ndjson_pieces(texts) if kind == "ndjson" else csv_pieces(self.stream, texts)
        )
        response = export(self.stream.name, kind, pieces)
        if self.filterset.short_search:
            response[SCOPE_HEADER] = f"newest-{SHORT_SEARCH_ROWS}"
        return response

    def post(self, request: Request) -> Response:
        """Store a batch of events: a JSON array or NDJSON, all of it or nothing."""
        media_type = request.content_type or ""
        if media_type.lower().startswith("multipart/"):
            raise UnsupportedMediaType(media_type)
        body = read_body(request._request, self.max_body_bytes)  # noqa: SLF001 - DRF offers no public name
        stored = batches.ingest(self.stream, body)
        answer = {"accepted": stored.accepted, "duplicates": stored.duplicates}
        return Response(
            answer | ({"ignored": stored.ignored} if stored.ignored else {})
        )


@extend_schema_view(
    get=extend_schema(
        parameters=parameters_of(TrafficPagination.form_class, TrafficFilterSet),
        responses={200: TrafficPageSerializer},
    ),
    post=extend_schema(
        request=SentTrafficEventSerializer(many=True), responses={200: StoredSerializer}
    ),
)
class TrafficEventsView(StreamView):
    """Network traffic events between peers."""

    stream = TRAFFIC
    queryset = TrafficEvent.objects.all()
    filterset_class = TrafficFilterSet
    pagination_class = TrafficPagination


@extend_schema_view(
    get=extend_schema(
        parameters=parameters_of(ProxyPagination.form_class, ProxyFilterSet),
        responses={200: ProxyPageSerializer},
    ),
    post=extend_schema(
        request=SentProxyEntrySerializer(many=True), responses={200: StoredSerializer}
    ),
)
class ProxyEntriesView(StreamView):
    """Reverse proxy access logs."""

    stream = PROXY
    queryset = ProxyEntry.objects.all()
    filterset_class = ProxyFilterSet
    pagination_class = ProxyPagination
