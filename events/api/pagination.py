"""Pages of the two big streams: their parameters, how they are read, their envelope."""

from collections.abc import Iterator
from math import ceil
from typing import Any, ClassVar, Final

from django import forms
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from events.api.filters import StreamFilterSet
from events.api.queries import EnumField, WholeNumberField
from events.instants import parse_instant
from events.keyset import Place
from events.streams import pages
from events.streams.catalogue import Stream
from events.streams.pages import Page, every_text
from meshmgmt.api.renderers import CONTENT_TYPE
from meshmgmt.core.errors import BadRequest

PRECISION_HEADER: Final = "X-Total-Count-Precision"
STREAMED_BYTES: Final = 8 * 2**20
"""Bodies from this size on are sent piece by piece instead of joined in memory."""


class PlaceField(forms.Field):
    """Time and id of an event, as in `2026-11-20T10:00:00Z,flow-7`."""

    def to_python(self, value: Any) -> Place | None:
        if value in self.empty_values:
            return None
        time, comma, identifier = value.partition(",")
        try:
            moment = parse_instant(time)
        except ValueError as error:
            raise forms.ValidationError("begins with no date and time") from error
        if not comma or "\0" in identifier:
            raise forms.ValidationError("must be a time and an id, as in TIME,ID")
        return Place(moment, identifier)


class PageForm(forms.Form):
    """`page` and `page_size`; a size above the maximum is clamped."""

    default_size = 0

    page = WholeNumberField(low=1, required=False)
    page_size = WholeNumberField(low=1, required=False)

    @property
    def asked(self) -> bool:
        """Whether a page is wanted, and not all there is."""
        return any(self.cleaned_data[name] for name in ("page", "page_size"))

    @property
    def number(self) -> int:
        return int(self.cleaned_data["page"] or 1)

    @property
    def size(self) -> int:
        return int(self.cleaned_data["page_size"] or self.default_size)

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size


class StreamPageForm(PageForm):
    """Page parameters of a big stream; exports of it begin behind a place."""

    after = PlaceField(
        required=False,
        help_text="For exports: time and id, with a comma between them, of the last"
        " event that arrived; what follows it comes",
    )

    @property
    def newest_first(self) -> bool:
        """Whether the page is one of the stream's own order."""
        return True


class TrafficPageForm(StreamPageForm):
    """Page parameters of the traffic stream (seed, Limits)."""

    default_size = 1000
    page_size = WholeNumberField(low=1, top=50_000, required=False)
    order = ("-time", "-id")


class ProxyPageForm(StreamPageForm):
    """Page and sort parameters of the proxy stream (seed, Limits)."""

    default_size = 50
    page_size = WholeNumberField(low=1, top=100, required=False)

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

    sort_by = EnumField(words=SORTS, required=False)
    sort_order = EnumField(words={"asc": "", "desc": "-"}, required=False)

    @property
    def newest_first(self) -> bool:
        return self.order == ["-timestamp", "-id"]

    @property
    def order(self) -> list[str]:
        """The columns to sort by, the id last so that every order is complete."""
        columns = self.cleaned_data["sort_by"] or self.SORTS["timestamp"]
        sign = self.cleaned_data["sort_order"]
        sign = "-" if sign is None else sign
        return [f"{sign}{column}" for column in (*columns, "id")]


class StreamPagination(BasePagination):
    """Pages joined from stored texts, in the envelope of the contract.

    The view gives the `stream`, and its filter backend `filterset` and `form`.
    """

    form: "TrafficPageForm | ProxyPageForm"
    stream: Stream
    filterset: StreamFilterSet

    def paginate_queryset(  # type: ignore[override]  # a page is more than rows
        self, queryset: QuerySet[Any], request: Request, view: Any = None
    ) -> Page:
        """Return the page; inside one snapshot, so that total and rows agree."""
        self.stream, self.filterset = view.stream, view.filterset
        form = self.form
        if form.cleaned_data["after"]:
            raise BadRequest.about("after", "after: is for exports; pages have numbers")
        end = form.offset + form.size
        pieces = None
        if self.filterset.searches and form.newest_first and end <= pages.FEW:
            # To find these costs as much as to count them all; often these are all.
            found = pages.newest(self.stream, queryset)
            pieces = found[form.offset : end]
            if len(found) <= pages.FEW:
                return Page(pieces, len(found), exact=True)
        total, exact = self._total()
        # A walk to a page that is not there would lead through every row.
        if exact and form.offset >= total:
            return Page([], total, exact)
        if pieces is None:
            pieces = self._pieces(queryset, total if exact else None)
        return Page(pieces, total, exact)

    def exported(
        self, stream: Stream, matching: QuerySet[Any]
    ) -> Iterator[list[bytes]]:
        """Return the texts of an export in lists: of the page asked for, else of all.

        Raises BadRequest where all is wanted in an order that would be found anew for
        every piece.
        """
        form = self.form
        place = form.cleaned_data["after"]
        if form.asked and place:
            raise BadRequest.about(
                "after", "after: leads through all there is; ask for no page"
            )
        if form.asked:
            bodies = matching.order_by(*form.order).values_list("body")
            end = form.offset + form.size
            return iter([list(pages.texts(bodies[form.offset : end]))])
        if form.newest_first:
            return every_text(stream, matching, place)
        # Lists of a thousand are found one after another, each from where one ended.
        raise BadRequest.about(
            "sort_by",
            "sort_by: an export of everything comes newest first; ask for a page",
        )

    def _total(self) -> tuple[int, bool]:
        if not self.filterset.on_tallies:
            return pages.bounded_count(self.stream, self.filterset.qs)
        tallies = self.stream.tally_model._default_manager.all()
        count = pages.tallied(self.filterset.filter_queryset(tallies))
        return min(count, pages.EXACT_TOTAL), count <= pages.EXACT_TOTAL

    def _pieces(self, matching: QuerySet[Any], total: int | None) -> list[bytes]:
        form = self.form
        if not form.newest_first:
            order, size = list(form.order), form.size
            return pages.sorted_by(matching, order, form.offset, size, total=total)
        return pages.newest_first(
            self.stream, matching, form.offset, form.size, total=total
        )

    def get_paginated_response(  # type: ignore[override]  # rendered already
        self, data: Page
    ) -> HttpResponseBase:
        """Return the envelope around the pieces, without joining big ones in memory."""
        # By hand: as JSON the events would be parsed, only to be written again.
        tail = b'],"page":%d,"page_size":%d,"total_records":%d,"total_pages":%d}\n' % (
            self.form.number,
            self.form.size,
            data.total,
            ceil(data.total / self.form.size),
        )
        parts = list(_with_commas(data.pieces, tail))
        length = sum(map(len, parts))
        response: HttpResponseBase
        if length < STREAMED_BYTES:
            response = HttpResponse(b"".join(parts), content_type=CONTENT_TYPE)
        else:
            response = StreamingHttpResponse(parts, content_type=CONTENT_TYPE)
            # Known already, so clients can say how far they are, and miss no end.
            response["Content-Length"] = str(length)
        if not data.exact:
            response[PRECISION_HEADER] = "at-least"
        self.filterset.tell_scope(response)
        return response

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return what the envelope looks like around events of a schema."""
        numbers = ("page", "page_size", "total_records", "total_pages")
        return {
            "type": "object",
            "description": "A page of events.",
            "properties": {name: {"type": "integer"} for name in numbers}
            | {"data": schema},
            "required": sorted(["data", *numbers]),
        }


def _with_commas(pieces: list[bytes], tail: bytes) -> Iterator[bytes]:
    yield b'{"data":['
    for number, piece in enumerate(pieces):
        if number:
            yield b","
        yield piece
    yield tail
