"""Endpoints of the two big streams: pages, ingest and summaries."""

from collections.abc import Iterator
from math import ceil
from typing import Any, ClassVar, Final

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from events.api.filters import ProxyFilterSet, StreamFilterSet, TrafficFilterSet
from events.api.queries import EnumField, PageForm, parameters_of, require_valid
from events.api.serializers import (
    ProxyPageSerializer,
    SentProxyEntrySerializer,
    SentTrafficEventSerializer,
    StoredSerializer,
    TrafficPageSerializer,
)
from events.streams import batches, pages
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.pages import Page
from events.streams.search import SHORT_SEARCH_ROWS
from meshmgmt.api.bodies import read_body
from meshmgmt.api.renderers import CONTENT_TYPE
from meshmgmt.api.views import ApiView
from meshmgmt.core.transactions import read_snapshot

PRECISION_HEADER: Final = "X-Total-Count-Precision"
SCOPE_HEADER: Final = "X-Search-Scope"
STREAMED_BYTES: Final = 8 * 2**20
"""Bodies from this size on are sent piece by piece instead of joined in memory."""


class TrafficPageForm(PageForm):
    """Page parameters of the traffic stream (seed, Limits)."""

    default_size = 1000
    max_size = 50_000


class ProxyPageForm(PageForm):
    """Page and sort parameters of the proxy stream (seed, Limits)."""

    default_size = 50
    max_size = 100

    SORTS: ClassVar[dict[str, tuple[str, ...]]] = {
        "timestamp": ("timestamp",),
        "url": ("host", "path"),
        "host": ("host",),
        "path": ("path",),
        "method": ("method",),
        "status_code": ("status_code",),
        "duration": ("duration_ms",),
        "source_ip": ("source_ip",),
        "user_id": ("user_id",),
        "auth_method": ("auth_method_used",),
        "reason": ("reason",),
    }

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.fields["sort_by"] = EnumField(words=self.SORTS, required=False)
        self.fields["sort_order"] = EnumField(
            words={"asc": "", "desc": "-"}, required=False
        )

    @property
    def newest_first(self) -> bool:
        """Whether the order is that of the stream."""
        return self.order == ["-timestamp", "-id"]

    @property
    def order(self) -> list[str]:
        """The columns to sort by, the id last so that every order is complete."""
        columns = self.cleaned_data["sort_by"] or self.SORTS["timestamp"]
        sign = self.cleaned_data["sort_order"]
        sign = "-" if sign is None else sign
        return [f"{sign}{column}" for column in (*columns, "id")]


class StreamView(ApiView):
    """Reads pages of a stream, takes batches in."""

    module = "events"
    max_body_bytes = batches.MAX_BODY_BYTES
    stream: ClassVar[Stream]
    filterset_class: ClassVar[type[StreamFilterSet]]
    page_form: ClassVar[type[PageForm]]

    @property
    def token_scopes(self) -> tuple[str, ...]:  # type: ignore[override]  # by method
        """Tokens for ingest may write here and ask how; they read nothing."""
        return ("ingest",) if self.request.method in {"POST", "OPTIONS"} else ()

    def get(self, request: Request) -> HttpResponseBase:
        """Return one page, newest first unless sorted otherwise."""
        form = self.page_form(request.query_params)
        filters = self.filterset_class(
            request.query_params, self.stream.model._default_manager.all()
        )
        require_valid(form, filters.form)
        with read_snapshot():
            page = self.read(form, filters)
        response = _page_response(page, form)
        if not page.exact:
            response[PRECISION_HEADER] = "at-least"
        if filters.short_search:
            response[SCOPE_HEADER] = f"newest-{SHORT_SEARCH_ROWS}"
        return response

    def read(self, form: PageForm, filters: StreamFilterSet) -> Page:
        """Return the page; inside one snapshot, so that total and rows agree."""
        matching = filters.qs
        offset = (form.page - 1) * form.page_size
        found = None
        if (
            filters.searches
            and form.newest_first
            and offset + form.page_size <= pages.FEW
        ):
            found = pages.newest(self.stream, matching)
            if found.whole:
                pieces = found.pieces(offset, form.page_size)
                return Page(pieces, len(found.texts), exact=True)
        total, exact = self.total(filters)
        if exact and offset >= total:
            return Page([], total, exact)
        if found is not None:
            return Page(found.pieces(offset, form.page_size), total, exact)
        pieces = self.pieces(form, matching, offset, total if exact else None)
        return Page(pieces, total, exact)

    def total(self, filters: StreamFilterSet) -> tuple[int, bool]:
        """Return the number of matching events and whether it is exact."""
        if not filters.on_tallies:
            return pages.bounded_count(self.stream, filters.qs)
        tallies = self.stream.tally_model._default_manager.all()
        count = pages.tallied(filters.filter_queryset(tallies))
        return min(count, pages.EXACT_TOTAL), count <= pages.EXACT_TOTAL

    def pieces(
        self, form: PageForm, matching: Any, offset: int, total: int | None
    ) -> list[bytes]:
        """Return the page's events as joined JSON texts."""
        return pages.newest_first(
            self.stream, matching, offset, form.page_size, total=total
        )

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


def _page_response(page: Page, form: PageForm) -> HttpResponseBase:
    """Return the envelope around the pieces, without joining big ones in memory."""
    tail = b'],"page":%d,"page_size":%d,"total_records":%d,"total_pages":%d}\n' % (
        form.page,
        form.page_size,
        page.total,
        ceil(page.total / form.page_size),
    )
    parts = list(_with_commas(page.pieces, tail))
    length = sum(map(len, parts))
    if length < STREAMED_BYTES:
        return HttpResponse(b"".join(parts), content_type=CONTENT_TYPE)
    response = StreamingHttpResponse(parts, content_type=CONTENT_TYPE)
    response["Content-Length"] = str(length)
    return response


def _with_commas(pieces: list[bytes], tail: bytes) -> Iterator[bytes]:
    yield b'{"data":['
    for number, piece in enumerate(pieces):
        if number:
            yield b","
        yield piece
    yield tail


@extend_schema_view(
    get=extend_schema(
        parameters=parameters_of(TrafficPageForm, TrafficFilterSet),
        responses={200: TrafficPageSerializer},
    ),
    post=extend_schema(
        request=SentTrafficEventSerializer(many=True), responses={200: StoredSerializer}
    ),
)
class TrafficEventsView(StreamView):
    """Network traffic events between peers."""

    stream = TRAFFIC
    filterset_class = TrafficFilterSet
    page_form = TrafficPageForm


@extend_schema_view(
    get=extend_schema(
        parameters=parameters_of(ProxyPageForm, ProxyFilterSet),
        responses={200: ProxyPageSerializer},
    ),
    post=extend_schema(
        request=SentProxyEntrySerializer(many=True), responses={200: StoredSerializer}
    ),
)
class ProxyEntriesView(StreamView):
    """Reverse proxy access logs."""

    stream = PROXY
    filterset_class = ProxyFilterSet
    page_form = ProxyPageForm

    def pieces(
        self, form: PageForm, matching: Any, offset: int, total: int | None
    ) -> list[bytes]:
        """Return the page's entries in the order asked for."""
        assert isinstance(form, ProxyPageForm)
        if form.newest_first:
            return super().pieces(form, matching, offset, total)
        return pages.sorted_by(
            matching, form.order, offset, form.page_size, total=total
        )
