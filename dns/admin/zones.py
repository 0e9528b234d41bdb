"""Pages of zones."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from dns.admin import zonefiles
from dns.admin.records import WIDE, PiecesAdmin, RecordInline
from dns.models import Record, Zone, ZoneGroup
from dns.services.zonefiles import zone_import
from dns.services.zones import RECORDS_AT_ONCE, zone_thin_out, zones
from groups.selectors import short_groups
from meshmgmt.adminsite import home
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.look import enabled, shown
from meshmgmt.adminsite.pages import ServiceForm, number_of
from meshmgmt.core.errors import FieldError, InvalidArgument, ServiceError
from meshmgmt.core.printable import counted


class ZoneForm(ServiceForm):
    resource = zones

    domain = forms.CharField(
        required=False, widget=WIDE, help_text="Cannot be changed later."
    )
    paste = zonefiles.ZoneFileText(
        rows=6,
        label="Records by paste",
        help_text=f"Up to {RECORDS_AT_ONCE} lines such as: www 300 A 10.0.0.1, or"
        " www,A,10.0.0.1,300 from a spreadsheet. Names without a final dot are relative"
        " to the domain. Import takes more, once the zone is there, and shows first what"
        " changes.",
    )
    distribution_groups = OrderedListField(
        ZoneGroup._meta.get_field("group"),
        help_text="Peers in these groups get the zone.",
    )

    def clean_paste(self) -> str:
        """Refuse what would keep others waiting: the whole page is one transaction."""
        text: str = self.cleaned_data["paste"]
        if len(text.splitlines()) > RECORDS_AT_ONCE:
            raise forms.ValidationError(
                f"These are more than {RECORDS_AT_ONCE} lines: save the zone without them,"
                " then use Import on its page"
            )
        return text

    def apply(self, data: dict[str, Any]) -> Any:
        """Create the zone, or change it, and take in what was pasted."""
        zone = super().apply(data)
        if data["paste"]:
            _take_in(zone, data["paste"])
        return zone


def _take_in(zone: Any, text: str) -> None:
    """Import what was pasted, in the transaction of the form. Raises InvalidArgument."""
    try:
        zone_import(zone_id=zone.pk, text=text, merge=True, strict=True)
    except ServiceError as error:
        lines = zonefiles.faults(error)
        errors = [FieldError("paste", line) for line in lines]
        raise InvalidArgument(lines[0], errors) from error


@admin.register(Zone)
class ZoneAdmin(PiecesAdmin):
    form = ZoneForm
    list_display = [
        *("name", "domain", enabled, "enable_search_domain"),
        number_of("records", "records"),
        number_of("group_links", "groups"),
        "created_at",
    ]
    list_filter = ["enabled", "enable_search_domain"]
    search_fields = ["name", "domain", "=id"]
    readonly_fields = ["receivers", "all_records", "id", "created_at"]
    fixed = ["domain"]
    bulk = SWITCH
    inlines = [RecordInline]

    def get_urls(self) -> list[Any]:
        """Add the pages that answer questions and take in files."""
        return [*zonefiles.urls(), *super().get_urls()]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the columns, links once there is a zone, and room to paste into."""
        placed = ("name", "domain", "paste")
        others = [x for x in self.get_fields(request, obj) if x not in placed]
        if obj is None:
            return [(None, {"fields": [*placed, *others]})]
        shown = [(None, {"fields": ["name", "domain", *others]})]
        if not self.has_change_permission(request, obj):
            return shown
        paste = {"fields": ["paste"], "classes": ["collapse"]}
        return [*shown, ("Add records by paste", paste)]

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Lead on, and offer to take back what was done."""
        response = super().response_change(request, obj)
        zonefiles.offer_undo(request)
        return response

    @admin.display(description="peers that get it")
    def receivers(self, zone: Zone) -> Any:
        """Return its groups, each with how many peers it has, leading to those."""
        groups = short_groups([link.group_id for link in zone.group_links.all()])
        peers = reverse("admin:inventory_peer_changelist")
        lines = (
            (shown(group["name"]), peers, pk, counted(group["peers_count"], "peer"))
            for pk, group in groups.items()
        )
        line = '<div>{}: <a href="{}?group={}">{}</a></div>'
        return format_html_join("", line, lines) or "none: it is in no group"

    @admin.display(description="records")
    def all_records(self, zone: Zone) -> str:
        url = home.list_url(Record, {"zone__id__exact": zone.pk})
        text = counted(zone.records.count(), "record")
        return format_html('<a href="{}">{}</a>', url, text)

    def large_deletion(self, ids: Sequence[str]) -> list[str]:
        zones = Zone.objects.filter(pk__in=ids).annotate(count=Count("records"))
        if sum(zone.count for zone in zones) <= RECORDS_AT_ONCE:
            return []
        return [
            format_html(
                'zone <a href="{}">{}</a>: will be deleted, with its {}',
                home.object_url(zone),
                zone.name,
                counted(zone.count, "record"),
            )
            for zone in zones
        ]

    def thin_out(self, ids: Sequence[str]) -> None:
        """Delete records of large zones."""
        for pk in Zone.objects.filter(pk__in=ids).values_list("pk", flat=True):
            zone_thin_out(zone_id=pk)
