"""What the three explorers share: they show, and change nothing."""

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
from events.streams.search import SHORT_SEARCH_ROWS, SHORTEST_INDEXED, fold
from events.streams.subjects import Subject

REACHABLE_ROWS: Final = 100_000
"""How deep the list's pages go: beyond, filters serve better than paging."""


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not at run time
    """Counts no further than the pages go."""

    @cached_property
    def count(self) -> int:
        """The number of rows that can be reached."""
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[:REACHABLE_ROWS].count())


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not at run time
    """Lists and pages without any way to write."""

    actions = None
    list_per_page = 100
    show_full_result_count = False
    paginator = BoundedPaginator
    time_field: ClassVar[str]
    search_fields = ("search",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False

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
        """Show the list below its charts."""
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
    """Explorer of a big stream."""

    fields = ("event",)
    readonly_fields = ("event",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the long texts out of lists."""
        return super().get_queryset(request).defer("search", "body")

    @admin.display(description="Event as clients get it")
    def event(self, row: Any) -> SafeString:
        """Show the whole event."""
        return json_block(row.content)


def json_block(value: Any) -> SafeString:
    """Return indented JSON text as HTML."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return format_html('<div class="event-json">{}</div>', text)
