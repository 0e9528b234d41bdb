"""Endpoints of the two big streams: pages and ingest."""

import logging
from typing import Any, ClassVar, Final

from django.db import OperationalError
from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from events.api.filters import (
    ProxyFilterSet,
    StreamFilterBackend,
    StreamFilterSet,
    TrafficFilterSet,
)
from events.api.pagination import (
    ProxyPageForm,
    StreamPageForm,
    StreamPagination,
    TrafficPageForm,
)
from events.api.queries import parameters_of
from events.api.serializers import (
    ProxyEntrySerializer,
    SentProxyEntrySerializer,
    SentTrafficEventSerializer,
    StoredSerializer,
    TrafficEventSerializer,
)
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.pages import csv_pieces, ndjson_pieces
from meshmgmt.api.exceptions import RETRY_SECONDS, is_busy
from meshmgmt.api.exports import CsvRenderer, NdjsonRenderer, export
from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.api.requests import read_body
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import TooManyRequests
from meshmgmt.core.transactions import read_snapshot

log = logging.getLogger(__name__)

STORE_BUSY: Final = "the store is busy: send this one again, more slowly"
"""With other batches, or because the stream is being moved: either is a lock in vain."""


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
    pagination_class = StreamPagination
    page_form: ClassVar[type[StreamPageForm]]
    event_serializer: ClassVar[type[Serializer[Any]]]
    sent_serializer: ClassVar[type[Serializer[Any]]]
    filterset: StreamFilterSet
    paginator: StreamPagination

    def __init_subclass__(cls) -> None:
        """Document the parameters, pages and batches."""
        super().__init_subclass__()
        # Here: a decorator of `get` above would describe all streams as one.
        asked = parameters_of(cls.page_form, cls.filterset_class)
        events = cls.event_serializer(many=True)
        get = extend_schema(parameters=asked, responses={200: events})
        sent = cls.sent_serializer(many=True)
        post = extend_schema(request=sent, responses={200: StoredSerializer})
        extend_schema_view(get=get, post=post)(cls)

    def get_queryset(self) -> QuerySet[Any]:
        return self.stream.model._default_manager.all()

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
        texts = self.paginator.exported(self.stream, matching)
        pieces = (
            ndjson_pieces(texts) if kind == "ndjson" else csv_pieces(self.stream, texts)
        )
        response = export(self.stream.name, kind, pieces)
        self.filterset.tell_scope(response)
        return response

    def post(self, request: Request) -> Response:
        """Store a batch of events: a JSON array or NDJSON, all of it or nothing."""
        media_type = request.content_type or ""
        # Any other type will do: shippers send text/plain, or none.
        if media_type.lower().startswith("multipart/"):
            raise UnsupportedMediaType(media_type)
        body = read_body(request._request, self.max_body_bytes)  # noqa: SLF001 - DRF offers no public name
        try:
            stored = batches.ingest(self.stream, body)
        except OperationalError as error:
            if not is_busy(error):
                raise
            # Shippers slow down for 429; 503 would tell them that the service is away.
            log.warning("a batch was sent away: %s", error)
            raise TooManyRequests(STORE_BUSY, retry_after=RETRY_SECONDS) from error
        answer = {"accepted": stored.accepted, "duplicates": stored.duplicates}
        return Response(
            answer | ({"ignored": stored.ignored} if stored.ignored else {})
        )


class TrafficEventsView(StreamView):
    """Network traffic events between peers."""

    stream = TRAFFIC
    filterset_class = TrafficFilterSet
    page_form = TrafficPageForm
    event_serializer = TrafficEventSerializer
    sent_serializer = SentTrafficEventSerializer


class ProxyEntriesView(StreamView):
    """Reverse proxy access logs."""

    stream = PROXY
    filterset_class = ProxyFilterSet
    page_form = ProxyPageForm
    event_serializer = ProxyEntrySerializer
    sent_serializer = SentProxyEntrySerializer
