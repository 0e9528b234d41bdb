"""Explorer of the audit trail, with links to the objects it tells of."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.activities import Activity
from events.admin.chartfilters import SEARCH, same
from events.admin.readonly import ChartedAdmin, json_block
from events.models import AuditEvent
from events.streams.subjects import AUDIT_SUBJECT


def object_url(event: AuditEvent) -> str | None:
    """Return the admin page of the event's target; None when it is gone or has none."""
    model = _model_named(event.target_type)
    if model is None or not model._default_manager.filter(pk=event.target_id).exists():
        return None
    try:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        return reverse(name, args=[event.target_id])
    except NoReverseMatch:  # a kind of object without pages of its own
        return None


def _model_named(target_type: str) -> type[Model] | None:
    """Return the model an event's `target_type` names: a model, or a list of it."""
    names = {target_type, target_type.removesuffix("s")}
    return next(
        (model for model in apps.get_models() if model._meta.model_name in names), None
    )


class FamilyFilter(admin.SimpleListFilter):
    """Events whose code begins alike."""

    title = "activity"
    parameter_name = "family"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the families of codes."""
        families = {code.partition(".")[0] for code in Activity.values}
        return [(family, f"{family}.*") for family in sorted(families)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep what belongs to the family."""
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
        "timestamp",
        "activity_code",
        "activity",
        "initiator",
        "target",
        "source_address",
    )
    list_filter = (FamilyFilter,)
    fields = (
        "timestamp",
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
        "activity",
        "initiator",
        "target_link",
        "changes_table",
        "meta_block",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Leave the searchable text out."""
        return super().get_queryset(request).defer("search")

    @admin.display(ordering="initiator_name")
    def initiator(self, event: AuditEvent) -> str:
        """Show who did it."""
        names = (event.initiator_name, event.initiator_email)
        return " ".join(name for name in names if name) or event.initiator_id

    @admin.display(ordering="target_id")
    def target(self, event: AuditEvent) -> str:
        """Name the object."""
        name = event.meta.get("name") or event.meta.get("new_name") or ""
        return f"{event.target_type} {name or event.target_id}".strip()

    @admin.display(description="Object")
    def target_link(self, event: AuditEvent) -> SafeString | str:
        """Link to the object, and to everything that happened to it."""
        trail = reverse("admin:events_auditevent_changelist")
        history = format_html(
            '<a href="{}?target_id__exact={}">all its events</a>',
            trail,
            event.target_id,
        )
        url = object_url(event)
        if url is None:
            return format_html("{} ({})", self.target(event), history)
        return format_html('<a href="{}">{}</a> ({})', url, self.target(event), history)

    @admin.display(description="Changes")
    def changes_table(self, event: AuditEvent) -> SafeString | str:
        """Show the fields before and after, lists by what came and went."""
        if not event.changes:
            return "none"
        rows = format_html_join(
            "",
            "<tr><th>{}</th><td>{}</td><td>{}</td></tr>",
            (
                (
                    name,
                    _shown(change, "before", "removed"),
                    _shown(change, "after", "added"),
                )
                for name, change in event.changes.items()
            ),
        )
        head = format_html(
            "<tr><th>Field</th><th>{}</th><th>{}</th></tr>", "Before", "After"
        )
        return format_html('<table class="event-diff">{}{}</table>', head, rows)

    @admin.display(description="Details")
    def meta_block(self, event: AuditEvent) -> SafeString:
        """Show the metadata."""
        return json_block(event.meta)


def _shown(change: dict[str, Any], *names: str) -> Any:
    """Return the first of the values that a change has."""
    value = next((change[name] for name in names if name in change), None)
    return "" if value is None else value
