"""What the three explorers share: they show, and change nothing."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, Final

import orjson
from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.admin.chartfilters import SEARCH, ChartFilters, summary_filters
from events.search import SHORT_SEARCH_ROWS, SHORTEST_INDEXED, fold
from events.streams.subjects import Subject

REACHABLE_ROWS: Final = 100_000
"""How deep the list's pages go: beyond, filters serve better than paging."""

_STEP: Final = 1024
_LARGER_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not at run time
    """Counts no further than the pages go."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[:REACHABLE_ROWS].count())


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not at run time
    actions = None
    list_per_page = 100
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # counting them reads the whole stream
    paginator = BoundedPaginator
    time_field: ClassVar[str]
    search_fields = ("search",)

    def _no(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_add_permission = has_change_permission = has_delete_permission = _no

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search as the API does: any part of any text, letter case aside."""
        text = fold(search_term)
        if not text:
            return queryset, False
        if len(text) < SHORTEST_INDEXED:
            newest = queryset.order_by(f"-{self.time_field}", "-pk").values("pk")
            rows = queryset.model._default_manager.filter(
                pk__in=newest[:SHORT_SEARCH_ROWS]
            )
            return rows.filter(search__holds=text), False
        return queryset.filter(search__holds=text), False


class ChartedAdmin(ReadOnlyAdmin):
    """Explorer of a stream with the charts of its summary."""

    change_list_template = "admin/events/stream_list.html"
    subject: ClassVar[Subject]
    summary_url_name: ClassVar[str]
    chart_filters: ClassVar[ChartFilters] = SEARCH

    class Media:
        css = {"all": ["events/explorer.css"]}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(
            request,
            {
                **(extra_context or {}),
                "summary_url": reverse(self.summary_url_name),
                "summary_groups": list(self.subject.groups),
                "summary_metrics": list(self.subject.metrics),
                "summary_filters": summary_filters(
                    request.GET, self.chart_filters, self.time_field
                ),
            },
        )


class StreamAdmin(ChartedAdmin):
    fields = ("instant", "event")
    readonly_fields = ("instant", "event")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("search")

    @admin.display(description="Time")
    def instant(self, row: Any) -> str:
        return shown_instant(getattr(row, self.time_field))

    @admin.display(description="Event as clients get it")
    def event(self, row: Any) -> SafeString:
        return json_block(row.content)


def shown_second(moment: datetime) -> str:
    """Return a moment for lists, whose headings say that it is UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def shown_instant(moment: datetime) -> str:
    """Return a moment with all that is known of it."""
    return f"{moment.astimezone(UTC).isoformat(' ').removesuffix('+00:00')} UTC"


def shown_size(count: int) -> str:
    """Return a number of bytes as people read it, as the charts write it."""
    size, unit = float(count), "B"
    for larger in _LARGER_UNITS:
        if size < _STEP:
            break
        size, unit = size / _STEP, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def with_detail(name: str, detail: str) -> SafeString | str:
    """Return a name with something smaller below it; either may be missing."""
    if not name or not detail or name == detail:
        return name or detail or "-"
    return format_html('{}<div class="detail">{}</div>', name, detail)


def json_block(value: Any) -> SafeString:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return format_html('<div class="event-json">{}</div>', text)
