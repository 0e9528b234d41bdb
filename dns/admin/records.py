"""Records: on the page of their zone, in a list of all, and deleted by the hundred."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse

from dns.models import Record
from dns.rules.relative import name_in_zone
from dns.services.records import records, records_delete
from dns.services.zones import RECORDS_AT_ONCE
from meshmgmt.adminsite.fields import DurationField, PartFormSet
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from meshmgmt.core.durations import words
from meshmgmt.core.errors import NotFound

MEDIUM = forms.TextInput(attrs={"size": 30})
NAME = forms.TextInput(attrs={"size": 30, "placeholder": "www, @ or *.dev"})
WIDE = forms.TextInput(attrs={"size": 44})


class RecordForm(ServiceForm):
    """A record of the zone that the page, or the form, names."""

    resource = records

    name = forms.CharField(
        required=False,
        strip=False,
        widget=NAME,
        help_text="www, @ for the zone itself, *.dev, or the whole name. A name that"
        " ends in a dot is whole in any case.",
    )
    content = forms.CharField(required=False, widget=MEDIUM)
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
                    self._delete(form.instance)
        super().full_clean()

    def _delete(self, record: Record) -> None:
        with suppress(NotFound):  # somebody else was faster
            records.delete(record.pk)

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
        lines = self.large_deletion([each.pk for each in chosen])
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
        if confirmed and self.has_delete_permission(request):
            self.thin_out(sent.getlist("_selected_action"))
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

    def large_deletion(self, ids: Sequence[str]) -> list[str]:
        return [f"{len(ids)} records: will be deleted"] * (len(ids) > RECORDS_AT_ONCE)

    def thin_out(self, ids: Sequence[str]) -> None:
        records_delete(record_ids=ids[:-RECORDS_AT_ONCE])

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        records_delete(record_ids=list(queryset.values_list("pk", flat=True)))
