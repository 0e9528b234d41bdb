"""Pages of zones and their records, which are also deleted by the hundred."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from dns.admin import zonefiles
from dns.models import Record, Zone, ZoneGroup
from dns.rules.zones import name_in_zone
from dns.services.zonefiles import zone_import
from dns.services.zones import (
    RECORDS_AT_ONCE,
    records,
    records_delete,
    zone_thin_out,
    zones,
)
from groups.selectors import short_groups
from meshmgmt.adminsite import home
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import DurationField, OrderedListField
from meshmgmt.adminsite.look import enabled, shown
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm, number_of
from meshmgmt.adminsite.parts import PartFormSet
from meshmgmt.core.durations import words
from meshmgmt.core.errors import FieldError, InvalidArgument, NotFound, ServiceError
from meshmgmt.core.printable import counted


class RecordForm(ServiceForm):
    """A record of the zone that the page, or the form, names."""

    resource = records

    name = forms.CharField(
        required=False,
        strip=False,
        widget=forms.TextInput({"size": 30, "placeholder": "www, @ or *.dev"}),
        help_text="www, @ for the zone itself, *.dev, or the whole name. A name that"
        " ends in a dot is whole in any case.",
    )
    content = forms.CharField(required=False, widget=forms.TextInput({"size": 30}))
    ttl = DurationField(label="TTL", initial=300)

    def up_to_date(self) -> bool:
        """Ask only for a record that was touched: a page has many."""
        return not self.has_changed() or super().up_to_date()

    def apply(self, data: dict[str, Any]) -> Any:
        """Create the record, or change it; leave one alone that nobody touched."""
        record: Record = self.instance
        if data.get("DELETE") or not self.has_changed() or _zone_refused(data):
            return record
        zone = data["zone"] if self.adding else record.zone
        return super().apply({**data, "name": name_in_zone(data["name"], zone.domain)})


def _zone_refused(data: dict[str, Any]) -> bool:
    """Tell whether the page's new zone was not written, so that records cannot be."""
    return "zone" in data and data["zone"]._state.adding


class RecordFormSet(PartFormSet):
    """The records on a zone's page; those marked go first, to make room for others."""

    searched = ("name", "content")

    def full_clean(self) -> None:
        """Delete what is marked, then write what changed."""
        if self.is_bound:
            for form in self.initial_forms:
                # As it was sent: rows are clean only when their rules were asked.
                if form.add_prefix("DELETE") in self.data:
                    with suppress(NotFound):  # somebody else was faster
                        records.delete(form.instance.pk)
        super().full_clean()

    def delete_existing(self, obj: Any, commit: bool = True) -> None:
        """Do nothing: the record is gone already."""


class RecordInline(admin.TabularInline):  # type: ignore[type-arg]  # not at run time
    """Records on the page of their zone, a part of them at once."""

    model = Record
    form = RecordForm
    formset = RecordFormSet
    template = "admin/dns/zone/records.html"
    extra = 1

    class Media:
        css = {"all": ["dns/records.css", "dns/pages.css"]}


class PiecesAdmin(ServiceAdmin):
    """Pages whose deletions may be too large for one transaction.

    Most records go before the transaction of the page begins.
    """

    def thin_out(self, ids: Sequence[str]) -> None:
        """Delete in pieces until few enough are left for one transaction."""
        raise NotImplementedError

    def large_deletion(self, ids: Sequence[str]) -> list[str]:
        """Say what goes, a line each; nothing where the deletion can be tried."""
        raise NotImplementedError

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Tell what goes; of much of it only how much, without trying it."""
        chosen = list(objs)
        ids = [each.pk for each in chosen]
        lines = [] if self.too_many(len(ids)) else self.large_deletion(ids)
        if not lines:
            return super().get_deleted_objects(chosen, request)
        return lines, {str(self.opts.verbose_name_plural): len(chosen)}, set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        # Asked here too: Django asks when the pieces would be gone.
        if request.method == "POST" and self.has_delete_permission(request):
            self.thin_out([unquote(object_id)])
        return super().delete_view(request, object_id, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        sent = request.POST
        confirmed = sent.get("action") == "delete_selected" and sent.get("post")
        ids = sent.getlist("_selected_action")
        # Or records would go, and then their zones be refused.
        possible = self.has_delete_permission(request) and not self.too_many(len(ids))
        if confirmed and possible:
            self.thin_out(ids)
        return super().changelist_view(request, extra_context)


@admin.register(Record)
class RecordAdmin(PiecesAdmin):
    form = RecordForm
    list_display = ["name", "type", "content", "lifetime", "zone"]
    list_filter = ["type"]
    list_select_related = ["zone"]
    search_fields = ["name", "content", "=id", "=zone__id"]
    autocomplete_fields = ["zone"]
    part_of = "zone"
    fixed = ["zone"]

    @admin.display(description="TTL", ordering="ttl")
    def lifetime(self, record: Record) -> str:
        return f"{words(record.ttl)} ({record.ttl:,} s)"

    def too_many(self, number: int) -> str:
        """Let any number go, for they go in pieces."""
        return ""

    def large_deletion(self, ids: Sequence[str]) -> list[str]:
        return [f"{len(ids)} records: will be deleted"] * (len(ids) > RECORDS_AT_ONCE)

    def thin_out(self, ids: Sequence[str]) -> None:
        records_delete(record_ids=ids[:-RECORDS_AT_ONCE])

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        records_delete(record_ids=list(queryset.values_list("pk", flat=True)))


class ZoneForm(ServiceForm):
    resource = zones

    domain = forms.CharField(
        required=False,
        widget=forms.TextInput({"size": 44}),
        help_text="Cannot be changed later.",
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
