"""Reading the audit trail: its filters, lists, one event, exports."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from math import ceil
from typing import Any, Final
from urllib.parse import quote

import django_filters
import orjson
from django import forms
from django.db.models import Q
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from events.activities import LABELS
from events.api.filters import Rows, StreamFilterSet
from events.api.pagination import PRECISION_HEADER, PageForm
from events.api.queries import (
    TextFilter,
    WholeNumberField,
    parameters_of,
    require_valid,
    since,
    until,
)
from events.api.serializers import Shape
from events.audit.reading import (
    NEWEST,
    Cursor,
    TrailPage,
    event_by_id,
    every_row,
    parse_cursor,
    read_page,
)
from events.audit.rows import (
    DETAIL_COLUMNS,
    DETAILED,
    LIST_COLUMNS,
    LISTED,
    AuditRow,
    detail_row,
    detail_rows,
    list_rows,
)
from events.models import AuditEvent, AuditHead
from events.proof import heads
from events.search import SHORTEST_INDEXED, fold
from events.streams.subjects import AUDIT_SUBJECT
from meshmgmt.api.exports import CsvRenderer, NdjsonRenderer, export, pieces_of
from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.api.views import ApiView
from meshmgmt.core.transactions import read_snapshot

HEAD_HEADER: Final = "Audit-Tree-Head"


def expand_codes(patterns: list[str]) -> list[str]:
    """Return the activity codes that codes or patterns (`group.*`) name.

    Raises ValueError for one that names none.
    """
    codes: list[str] = []
    for pattern in patterns:
        found = [code for code in LABELS if fnmatchcase(code, pattern)]
        # fnmatch knows more signs than are promised.
        if "*" not in pattern or "[" in pattern or "?" in pattern:
            found = [pattern] if pattern in LABELS else []
        if not found:
            raise ValueError(
                f"{pattern[:80]!r} is no activity code, nor a pattern of any"
            )
        codes += found
    return codes


class CodesField(forms.Field):
    """Activity codes and patterns; the parameter may be repeated."""

    widget = forms.SelectMultiple

    def to_python(self, value: Any) -> list[str] | None:
        patterns = [text.strip().lower() for text in value or [] if text.strip()]
        if not patterns:
            return None
        try:
            return expand_codes(patterns)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


class CodesFilter(django_filters.Filter):
    field_class = CodesField


class AuditFilterSet(StreamFilterSet):
    subject = AUDIT_SUBJECT

    activity_code = CodesFilter(
        lookup_expr="in",
        help_text="A code or a pattern such as group.*; may be repeated",
    )
    initiator_id = TextFilter(help_text="Who did it")
    user_id = TextFilter(
        field_name="initiator_id", help_text="The same as initiator_id"
    )
    target_id = TextFilter(help_text="What it was done to")
    target_type = TextFilter(help_text="Kind of what it was done to, such as peer")
    group_id = TextFilter(
        method="of_group",
        help_text="A group: changes of it, and who or what came into it or left it",
    )
    source_address = TextFilter(help_text="Address that the request came from")
    search = TextFilter(help_text="Part of any text of the event")
    start_date = since("timestamp", "Not older (ISO 8601)")
    end_date = until("timestamp", "Not newer (ISO 8601)")

    def of_group(self, queryset: Rows, name: str, group_id: str) -> Rows:
        """Keep events of or about a group; the search index narrows first."""
        if len(fold(group_id)) < SHORTEST_INDEXED:
            return queryset.none()  # no group has such an id
        about = Q(target_id=group_id) | Q(meta__group_id=group_id)
        return queryset.filter(about, search__holds=fold(group_id))


class AuditEventSerializer(Shape):
    """One event as lists show it (seed, Resources)."""

    kind = AuditRow
    names = LISTED


class AuditEventDetailSerializer(Shape):
    """One event with what it changed and where it came from."""

    kind = AuditRow


class AuditPageForm(PageForm):
    """`page` and `page_size`, or `cursor`."""

    default_size = NEWEST
    page_size = WholeNumberField(low=1, top=NEWEST, required=False)
    cursor = forms.CharField(
        required=False, help_text="From the Link header of an earlier answer"
    )

    def clean_cursor(self) -> Cursor | None:
        text = self.cleaned_data["cursor"]
        if not text:
            return None
        if self.cleaned_data.get("page"):
            raise forms.ValidationError("cannot be combined with page")
        try:
            return parse_cursor(text)
        except (ValueError, OverflowError) as error:
            raise forms.ValidationError(str(error)) from error


@extend_schema_view(
    get=extend_schema(
        parameters=parameters_of(AuditPageForm, AuditFilterSet),
        responses={200: AuditEventSerializer(many=True)},
    )
)
class AuditEventsView(ApiView):
    """The newest audit events, newest first; filtered, paged or exported."""

    module = "events"
    reads_long = True
    serializer_class = AuditEventSerializer
    answers_list = True
    renderer_classes = [OrjsonRenderer, NdjsonRenderer, CsvRenderer]

    tree_head: AuditHead | None = None

    def before_reading(self, request: Request) -> None:
        """Sign a tree head for an export, which will have all that it covers."""
        # A head is written, which the snapshot of a read, or a replica, would refuse.
        if request.accepted_renderer.format != "json":
            self.tree_head = heads.for_export()

    def get(self, request: Request) -> HttpResponseBase:
        """Return at most 10,000 events, or an export of any size."""
        form = AuditPageForm(request.query_params)
        filters = AuditFilterSet(request.query_params, AuditEvent.objects.all())
        require_valid(form, filters.form)
        kind = getattr(request.accepted_renderer, "format", "json")
        columns = LIST_COLUMNS if kind == "json" else DETAIL_COLUMNS
        if kind != "json" and not (form.asked or form.cleaned_data["cursor"]):
            file = _export(kind, every_row(filters.qs, columns))
            filters.tell_scope(file)
            if self.tree_head is not None:
                file[HEAD_HEADER] = orjson.dumps(heads.row(self.tree_head)).decode()
            return file
        with read_snapshot():
            page = read_page(
                filters.qs,
                columns,
                cursor=form.cleaned_data["cursor"],
                offset=form.offset,
                size=form.size,
            )
        response: HttpResponseBase
        if kind == "json":
            response = Response(list(list_rows(page.found)))
        else:
            response = _export(kind, iter(page.found))
        self._describe(response, page, form)
        filters.tell_scope(response)
        return response

    def _describe(
        self, response: HttpResponseBase, page: TrailPage, form: AuditPageForm
    ) -> None:
        """Put the total and the ways on into headers; the body stays a plain array."""
        response["X-Total-Count"] = str(page.total)
        if not page.exact:
            response[PRECISION_HEADER] = "at-least"
        # The neighbours, by link relation (RFC 8288).
        ways: dict[str, Any] = {"prev": page.newer, "next": page.older}
        by = "cursor"
        if form.cleaned_data["page"]:
            ways, by = _numbers(page, form), "page"
        links = [self._link(each, by, place) for each, place in ways.items() if place]
        # No neighbour: what will have come since (RFC 5989).
        links.append(self._link("monitor", "cursor", page.since))
        response["Link"] = ", ".join(links)

    def _link(self, relation: str, name: str, place: object) -> str:
        query = self.request.query_params.copy()
        # A place given in two ways would be refused.
        for other in ("page", "cursor"):
            query.pop(other, None)
        query[name] = str(place)
        return f'<{quote(self.request.path)}?{query.urlencode()}>; rel="{relation}"'


def _numbers(page: TrailPage, form: AuditPageForm) -> dict[str, int]:
    """Return the neighbours of a numbered page, by link relation."""
    numbers = {}
    if form.number > 1:
        # Beyond the end "prev" leads back to the last page, not to another empty one.
        last = max(1, ceil(page.total / form.size)) if page.exact else form.number
        numbers = {"first": 1, "prev": min(form.number - 1, last)}
    if page.older:
        numbers["next"] = form.number + 1
    return numbers


def _export(kind: str, found: Iterator[tuple[Any, ...]]) -> StreamingHttpResponse:
    return export("audit", kind, pieces_of(kind, DETAILED, detail_rows(found)))


class AuditEventView(ApiView):
    """One audit event with the values before and after."""

    module = "events"
    serializer_class = AuditEventDetailSerializer

    def get(self, request: Request, event_id: str) -> Response:
        """Return the event. Raises NotFound."""
        return Response(detail_row(event_by_id(event_id)))
