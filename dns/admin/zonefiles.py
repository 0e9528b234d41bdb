"""Pages that take zone files in, after showing what they change, and give them out."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from dns.api.zonefiles import ZONE_FILE_BYTES, zone_file_response, zone_file_text
from dns.models import Zone
from dns.services.zonefiles import (
    Import,
    ZoneChanged,
    zone_export,
    zone_import,
    zone_import_preview,
)
from dns.zonefile.changes import Diff
from dns.zonefile.writer import as_zone_lines
from events.models import AuditEvent
from meshmgmt.adminsite import home
from meshmgmt.adminsite.site import page
from meshmgmt.core.context import current
from meshmgmt.core.errors import ServiceError
from meshmgmt.mesh.snapshot import Record

SHOWN: Final = 50
"""Changes of each kind that a preview lists."""
CARRIED: Final = 200_000
"""Characters of a file that the page with the preview holds for the next step."""


class ZoneFileText(forms.CharField):
    """Records as lines of a zone file, pasted below a TTL for those without."""

    def __init__(self, *, rows: int, **kwargs: Any) -> None:
        look = {"rows": rows, "spellcheck": "false", "class": "dns-paste"}
        kwargs |= {"required": False, "strip": False, "initial": "$TTL 300\n"}
        super().__init__(widget=forms.Textarea(attrs=look), **kwargs)

    def clean(self, value: Any) -> str:
        """Return lines of a zone file; "" where nothing was added to what stood there."""
        text: str = super().clean(value)
        same = text.split() == str(self.initial).split()
        return "" if same else as_zone_lines(text)


class ImportForm(forms.Form):
    """A zone file, pasted or chosen, and what becomes of the records it lacks."""

    text = ZoneFileText(
        rows=12,
        label="Paste a zone file, or rows of a table",
        help_text="Lines such as: www 300 A 10.0.0.1, or www,A,10.0.0.1,300. Names without"
        " a final dot are relative to the zone; A, AAAA and CNAME are taken.",
    )
    file = forms.FileField(required=False, label="or choose a file")
    mode = forms.ChoiceField(
        label="Records that it lacks",
        choices=[("merge", "stay (merge)"), ("replace", "are removed (replace)")],
        initial="merge",
        widget=forms.RadioSelect,
    )

    def clean(self) -> dict[str, Any]:
        """Take the text out of the file, if there is one."""
        data: dict[str, Any] = super().clean() or {}
        file = data.get("file")
        if file is not None:
            if file.size > ZONE_FILE_BYTES:
                raise forms.ValidationError(
                    f"the file is larger than {ZONE_FILE_BYTES} bytes"
                )
            try:
                # As if it were pasted: the next step may carry it in the other field.
                data["text"] = as_zone_lines(zone_file_text(file.read()))
            except ServiceError as error:
                raise forms.ValidationError(error.message) from error
        return data

    def facts(self) -> dict[str, Any]:
        merge = self.cleaned_data["mode"] == "merge"
        return {"text": self.cleaned_data["text"], "merge": merge}

    def show(self, error: ServiceError) -> None:
        for line in faults(error):
            self.add_error(None, line)

    def carrying(self) -> "ImportForm":
        """Return the form for the next step, which holds the text of a small file."""
        text = self.cleaned_data["text"]
        if not self.files or len(text) > CARRIED:
            return self
        return ImportForm({"text": text, "mode": self.cleaned_data["mode"]})


class Line(NamedTuple):
    """A line of a preview; `before` is what the record was until now."""

    sign: str
    record: Record
    before: Record | None = None


def urls() -> list[URLPattern]:
    view = admin.site.admin_view
    return [
        path("<str:zone_id>/import/", view(import_page), name="dns_zone_import"),
        path("<str:zone_id>/export/", view(export_page), name="dns_zone_export"),
    ]


@permission_required("dns.view_zone", raise_exception=True)
def export_page(request: HttpRequest, zone_id: str) -> HttpResponse:
    return zone_file_response(zone_export(zone_id=zone_id), "attachment")


@permission_required("dns.change_zone", raise_exception=True)
def import_page(request: HttpRequest, zone_id: str) -> HttpResponse:
    """Show what a zone file changes; once that is confirmed, write it."""
    zone = get_object_or_404(Zone, pk=zone_id)
    form, planned = ImportForm(), None
    if request.method == "POST":
        form = ImportForm(request.POST, request.FILES)
        if form.is_valid():
            confirmed = request.POST.get("confirm", "")
            if confirmed and _imported(request, zone, form, confirmed):
                return HttpResponseRedirect(home.object_url(zone))
            planned = _planned(zone, form)
            if planned is not None:  # else it tells what is wrong
                form = form.carrying()
    facts: dict[str, Any] = {"zone": zone, "form": form}
    if planned is not None:
        facts |= {"planned": planned, "lines": list(_lines(planned.diff))}
        facts |= {"shown": SHOWN, "shown_slice": f":{SHOWN}", "again": bool(form.files)}
    title = f"Import into {zone.domain}"
    return page(request, "admin/dns/zone/import.html", title, facts)


def offer_undo(request: HttpRequest) -> None:
    """Say where what this request did can be taken back, all of it at once."""
    done = AuditEvent.objects.filter(request_id=current().request_id)
    last = done.order_by("-id").first()
    if last is not None and request.user.has_perm("events.view_auditevent"):
        way = reverse("admin-audit-revert", args=[last.pk])
        messages.info(
            request, format_html('<a href="{}?whole=1">Take it back</a>', way)
        )


def faults(error: ServiceError) -> list[str]:
    """Return what is wrong with a zone file; the messages name the places."""
    return [fault.message for fault in error.errors] or [error.message]


def _planned(zone: Zone, form: ImportForm) -> Import | None:
    if form.errors:
        return None
    try:
        return zone_import_preview(zone_id=zone.pk, **form.facts())
    except ServiceError as error:
        form.show(error)
        return None


def _imported(
    request: HttpRequest, zone: Zone, form: ImportForm, confirmed: str
) -> bool:
    """Import what was confirmed; return False if that is something else by now."""
    try:
        done = zone_import(zone_id=zone.pk, expected=confirmed, **form.facts())
    except ZoneChanged:
        messages.warning(
            request,
            "Nothing was written: the zone or the file changed since the preview. This"
            " is what would change now.",
        )
        return False
    except ServiceError as error:
        form.show(error)
        return False
    diff = done.diff
    messages.success(
        request,
        f"Records of {zone.domain}: {len(diff.added)} added, {len(diff.changed)} changed,"
        f" {len(diff.removed)} removed.",
    )
    offer_undo(request)
    return True


def _lines(diff: Diff) -> Iterator[Line]:
    """The first changes of each kind: what goes, what changes, what comes."""
    yield from (Line("removed", record) for record in diff.removed[:SHOWN])
    for change in diff.changed[:SHOWN]:
        yield Line("changed", change.after, change.before)
    yield from (Line("added", record) for record in diff.added[:SHOWN])
