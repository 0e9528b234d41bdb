"""Pages of zones."""

from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from dns.admin import pages
from dns.admin.records import WIDE, RecordAdmin, RecordInline
from dns.models import Zone, ZoneGroup
from dns.rules import ZoneDraft
from dns.services.zones import zone_create, zone_delete, zone_update
from meshmgmt.api.admin import ServiceAdmin, ServiceForm
from meshmgmt.api.adminfields import OrderedListField
from meshmgmt.api.adminlook import enabled
from meshmgmt.core.orderedlinks import member_keys

__all__ = ["RecordAdmin", "ZoneAdmin"]

# Beyond it the records have a list of their own: each takes seven fields of the page,
# and Django refuses forms with more than a thousand.
MAX_INLINE_RECORDS: Final = 100


class ZoneForm(ServiceForm):
    """A zone."""

    name = forms.CharField(required=False, strip=False, widget=WIDE)
    domain = forms.CharField(
        required=False, widget=WIDE, help_text="Cannot be changed later."
    )
    distribution_groups = OrderedListField(
        ZoneGroup._meta.get_field("group"),
        help_text="Peers in these groups get the zone.",
    )

    class Meta:
        model = Zone
        fields = [
            *("name", "domain", "enabled", "enable_search_domain"),
            "distribution_groups",
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.adding:
            groups = member_keys(ZoneGroup, self.instance)
            self.initial.setdefault("distribution_groups", groups)

    def apply(self, data: dict[str, Any]) -> Zone:
        """Create the zone, or change it."""
        if not self.adding:
            return zone_update(zone_id=self.instance.pk, **data)
        draft = ZoneDraft(data["name"], data["domain"], data["distribution_groups"])
        return zone_create(
            draft=draft,
            enabled=data["enabled"],
            enable_search_domain=data["enable_search_domain"],
        )


@admin.register(Zone)
class ZoneAdmin(ServiceAdmin):
    """Custom zones."""

    form = ZoneForm
    list_display = [
        *("name", "domain", enabled, "enable_search_domain", "records_count"),
        *("groups_count", "created_at"),
    ]
    list_filter = ["enabled", "enable_search_domain"]
    search_fields = ["name", "domain", "=id"]
    ordering = ["id"]
    readonly_fields = ["all_records", "id", "created_at"]
    inlines = [RecordInline]

    def get_urls(self) -> list[Any]:
        """Add the pages that answer questions."""
        return [*pages.urls(), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Zone]:
        """Count records and groups along."""
        found: QuerySet[Zone] = super().get_queryset(request)
        return found.annotate(
            records_count=Count("records", distinct=True),
            groups_count=Count("group_links", distinct=True),
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the columns; the link to the records once there is a zone."""
        if obj is None:
            return ZoneForm.Meta.fields
        return [*ZoneForm.Meta.fields, *self.readonly_fields]

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Leave the records to their own list when there are many."""
        if obj is not None and obj.records.count() > MAX_INLINE_RECORDS:
            return []
        return super().get_inlines(request, obj)

    @admin.display(description="records", ordering="records_count")
    def records_count(self, zone: Any) -> int:
        """How many records the zone has."""
        return int(zone.records_count)

    @admin.display(description="groups", ordering="groups_count")
    def groups_count(self, zone: Any) -> int:
        """How many groups get the zone."""
        return int(zone.groups_count)

    @admin.display(description="records")
    def all_records(self, zone: Zone) -> str:
        """A link to the zone's records."""
        path = reverse("admin:dns_record_changelist")
        text = f"{zone.records.count()} records"
        return format_html(
            '<a href="{}?zone__id__exact={}">{}</a>', path, zone.pk, text
        )

    def delete_object(self, instance: Zone) -> None:
        zone_delete(zone_id=instance.pk)
