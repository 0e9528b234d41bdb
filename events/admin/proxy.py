"""Explorer of the reverse proxy access logs."""

from typing import Any, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from events.admin.chartfilters import SEARCH, same
from events.admin.readonly import StreamAdmin, shown_second, with_detail
from events.directory import directory
from events.models import ProxyEntry
from events.streams.subjects import PROXY_SUBJECT
from events.vocabulary import METHODS

_PATH_SHOWN: Final = 60


class OutcomeFilter(admin.SimpleListFilter):
    """What went well, or what did not."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("success", "success (200 to 399)"), ("failed", "failed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        well = Q(status_code__gte=200, status_code__lt=400)
        if self.value() is None:
            return queryset
        return queryset.filter(well if self.value() == "success" else ~well)


class MethodFilter(admin.SimpleListFilter):
    """The usual methods; listing those in use would read the whole stream."""

    title = "method"
    parameter_name = "with_method"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(method, method) for method in sorted(METHODS) if method]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
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
        "second",
        "method",
        "host",
        "short_path",
        "status_code",
        "took",
        "source",
        "user",
        "reason",
    )
    list_filter = (OutcomeFilter, MethodFilter)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        listed = super().get_changelist_instance(request)
        rows = list(listed.result_list)
        users = directory.users({row.user_id for row in rows} - {""})
        names = {user.id: user.name or user.email for user in users}
        for row in rows:
            vars(row)["user_name"] = names.get(row.user_id, "")
        listed.result_list = rows
        return listed

    @admin.display(description="Time (UTC)", ordering="timestamp")
    def second(self, row: ProxyEntry) -> str:
        return shown_second(row.timestamp)

    @admin.display(description="Path", ordering="path")
    def short_path(self, row: ProxyEntry) -> str:
        return Truncator(row.path).chars(_PATH_SHOWN)

    @admin.display(description="ms", ordering="duration_ms")
    def took(self, row: ProxyEntry) -> int:
        return row.duration_ms

    @admin.display(ordering="source_ip")
    def source(self, row: ProxyEntry) -> SafeString | str:
        metadata = row.content.get("metadata") or {}
        return with_detail(metadata.get("peer_name", ""), row.source_ip)

    @admin.display(ordering="user_id")
    def user(self, row: ProxyEntry) -> str:
        return vars(row).get("user_name") or row.user_id or "-"
