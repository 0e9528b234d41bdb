"""Explorer of the reverse proxy access logs."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from events.admin.chartfilters import SEARCH, same
from events.admin.readonly import StreamAdmin
from events.models import ProxyEntry
from events.streams.proxy import METHODS
from events.streams.subjects import PROXY_SUBJECT


class OutcomeFilter(admin.SimpleListFilter):
    """What went well, or what did not."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the outcomes."""
        return [("success", "success (200 to 399)"), ("failed", "failed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep what has the chosen outcome."""
        well = Q(status_code__gte=200, status_code__lt=400)
        if self.value() is None:
            return queryset
        return queryset.filter(well if self.value() == "success" else ~well)


class MethodFilter(admin.SimpleListFilter):
    """The usual methods; listing those in use would read the whole stream."""

    title = "method"
    parameter_name = "with_method"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the methods."""
        return [(method, method) for method in sorted(METHODS) if method]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep what has the chosen method."""
        return queryset.filter(method=self.value()) if self.value() else queryset


@admin.register(ProxyEntry)
class ProxyEntryAdmin(StreamAdmin):
    """Who is hammering that service."""

    subject = PROXY_SUBJECT
    summary_url_name = "proxy-summary"
    chart_filters = {
        **SEARCH,
        "outcome": ("status", same),
        "with_method": ("method", same),
    }
    time_field = "timestamp"
    date_hierarchy = "timestamp"
    list_display = (
        "timestamp",
        "method",
        "host",
        "path",
        "status_code",
        "duration_ms",
        "source_ip",
        "user_id",
        "reason",
    )
    list_filter = (OutcomeFilter, MethodFilter)
