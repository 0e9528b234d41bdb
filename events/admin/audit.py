"""Explorer of the audit trail, with links to the objects it tells of."""

from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.activities import Activity
from events.admin.changetable import change_table, mentioned_ids
from events.admin.chartfilters import SEARCH, same
from events.admin.objectpages import ObjectPages, kind_of
from events.admin.readonly import (
    ChartedAdmin,
    json_block,
    shown_instant,
    shown_second,
    with_detail,
)
from events.models import AuditEvent
from events.streams.subjects import AUDIT_SUBJECT

_NAMES: Final = (
    "name",
    "new_name",
    "setupkey",
    "user_name",
    "username",
    "email",
    "peer_fqdn",
    "peer",
)
"""Keys of the metadata that name the target, the surest first."""


class FamilyFilter(admin.SimpleListFilter):
    """Events whose code begins alike."""

    title = "activity"
    parameter_name = "family"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        families = {code.partition(".")[0] for code in Activity.values}
        return [(family, f"{family}.*") for family in sorted(families)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        codes = [c for c in Activity.values if c.startswith(f"{self.value()}.")]
        return queryset.filter(activity_code__in=codes)


@admin.register(AuditEvent)
class AuditEventAdmin(ChartedAdmin):
    """Who changed this."""

    subject = AUDIT_SUBJECT
    summary_url_name = "audit-summary"
    chart_filters = {
        **SEARCH,
        "family": ("activity_code", "{}.*".format),
        "target_id__exact": ("target_id", same),
    }
    time_field = "timestamp"
    date_hierarchy = "timestamp"
    ordering = ("-timestamp", "-id")
    list_display = (
        "second",
        "what",
        "initiator",
        "target",
        "source_address",
    )
    list_filter = (FamilyFilter,)
    fields = (
        "instant",
        "activity",
        "activity_code",
        "initiator",
        "target_link",
        "changes_table",
        "meta_block",
        "request_id",
        "source_address",
        "token_id",
    )
    readonly_fields = (
        "instant",
        "activity",
        "initiator",
        "target_link",
        "changes_table",
        "meta_block",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("search")

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> AuditEvent | None:
        """Return the event with the pages its viewer may follow from it."""
        event: AuditEvent | None = super().get_object(request, object_id, from_field)
        if event is not None:
            vars(event)["pages"] = ObjectPages(request)
        return event

    @admin.display(description="Time (UTC)", ordering="timestamp")
    def second(self, event: AuditEvent) -> str:
        return shown_second(event.timestamp)

    @admin.display(description="Time")
    def instant(self, event: AuditEvent) -> str:
        return shown_instant(event.timestamp)

    @admin.display(description="Activity", ordering="activity_code")
    def what(self, event: AuditEvent) -> SafeString | str:
        return with_detail(event.activity, event.activity_code)

    @admin.display(ordering="initiator_name")
    def initiator(self, event: AuditEvent) -> str:
        return event.initiator_name or event.initiator_email or event.initiator_id

    @admin.display(ordering="target_id")
    def target(self, event: AuditEvent) -> SafeString | str:
        return with_detail(target_name(event), kind_of(event.target_type))

    @admin.display(description="Object")
    def target_link(self, event: AuditEvent) -> SafeString:
        page = _pages(event).of_event(event)
        shown: str = f"{kind_of(event.target_type)} {target_name(event)}".strip()
        if page is not None:
            shown = format_html('<a href="{}">{}</a>', page.url, shown)
        return format_html(
            '{} (<a href="{}?target_id__exact={}">all its events</a>)',
            shown,
            reverse("admin:events_auditevent_changelist"),
            event.target_id,
        )

    @admin.display(description="Changes")
    def changes_table(self, event: AuditEvent) -> SafeString | str:
        if not event.changes:
            return "none"
        pages = _pages(event).of_ids(mentioned_ids(event.changes))
        return change_table(event.changes, pages)

    @admin.display(description="Details")
    def meta_block(self, event: AuditEvent) -> SafeString:
        return json_block(event.meta)


def target_name(event: AuditEvent) -> str:
    """Return what the target was called then, else its id."""
    names = (event.meta.get(key) for key in _NAMES)
    return next((str(name) for name in names if name), event.target_id)


def _pages(event: AuditEvent) -> ObjectPages:
    pages: ObjectPages = vars(event)["pages"]
    return pages
