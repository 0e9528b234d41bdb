"""The admin's page that compares the configuration of two moments."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Count, Max
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst

from events.admin.changetable import change_table
from events.admin.here import Here, link_to
from events.admin.inputs import SPANS
from events.admin.objectpages import ObjectPages
from events.api.queries import InstantField
from events.audit.reading import event_by_id, events_of_request, last_id_at
from events.audit.specs import member_events, owner_of
from events.models import AuditEvent
from groups.models import Group
from meshmgmt.api.permissions import check_page, may_write
from meshmgmt.configuration.difference import difference
from meshmgmt.configuration.document import configuration_at, names_at
from meshmgmt.configuration.sections import SECTIONS, Row
from meshmgmt.core.clock import rfc3339
from meshmgmt.core.context import account_id
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.transactions import read_snapshot

SIZE: Final = 50
DATES: Final = ("start_date", "end_date")

_SINGLE: Final = {"settings": "account", "dns_settings": "dnssettings"}
"""What is about the account, by section, as events call it."""
_TONES: Final = {"created": "ok", "changed": "warn", "deleted": "bad"}
_KINDS: Final = {
    "settings": "account settings",
    "dns_settings": "DNS settings",
    **{
        part.name: part.view.kind
        for section in SECTIONS
        for part in (section, *section.parts)
    },
}


def _input(placeholder: str) -> forms.TextInput:
    return forms.TextInput({"placeholder": placeholder, "autocomplete": "off"})


class MomentsForm(forms.Form):
    """Two moments, as the explorers of events take them."""

    start_date = InstantField(label="From (UTC)", widget=_input("2026-01-31 14:00"))
    end_date = InstantField(
        label="To (UTC)", end=True, required=False, widget=_input("now")
    )

    began: datetime | None = None
    """When the trail began, where that is later than the moment that was asked for."""

    def clean(self) -> dict[str, Any]:
        """Refuse an end before the start; start no earlier than the trail."""
        data: dict[str, Any] = super().clean() or {}
        start, end = (data.get(name) for name in DATES)
        if start and end and end < start:
            self.add_error("end_date", "must not lie before the other moment")
        times = AuditEvent.objects.order_by("timestamp").values_list(
            "timestamp", flat=True
        )
        oldest = times.first()
        if start and oldest and start < oldest:
            self.began = data["start_date"] = oldest
        return data


def compare_page(request: HttpRequest) -> HttpResponseBase:
    """Show what differs, object by object, who did it, and how to take it back."""
    check_page(request, "settings")
    check_page(request, "events")
    if "event" in request.GET:
        return redirect(_around(request.GET["event"]))
    asked = "start_date" in request.GET
    form = MomentsForm(request.GET if asked else None)
    found = _difference(form) if asked and form.is_valid() else None
    if found is not None and request.GET.get("format") == "json":
        moments = {name: request.GET.get(name, "") for name in DATES}
        return JsonResponse({**moments, "objects": found})
    here = Here(request.GET)
    number = request.GET.get("page")
    page = None if found is None else Paginator(found, SIZE).get_page(number)
    facts = {
        "form": form,
        "spans": [
            (text, link_to({"start_date": span}), here.is_at([("start_date", span)]))
            for span, text in SPANS.items()
            if span
        ],
        "page": page,
        "rows": [] if page is None else _rows(request, list(page), form.cleaned_data),
        "trail": _trail(here),
        "json": here.with_(format="json"),
        "writes": may_write(request),
        "ways": [] if page is None else here.ways(page, "page"),
    }
    site = admin.site.each_context(request)
    context = {**site, "title": "Compare two moments", **facts}
    return TemplateResponse(request, "admin/configuration/compare.html", context)


def _trail(here: Here) -> str:
    moments = [pair for pair in here.pairs if pair[0] in DATES]
    return f"{reverse('admin:events_auditevent_changelist')}{link_to(moments)}"


def _around(event_id: str) -> str:
    """Return the address that compares what was before a request with what it left."""
    event = event_by_id(event_id)
    times = list(events_of_request(event).values_list("timestamp", flat=True))
    # All events of a write have one time, and the smallest step is a microsecond.
    first, last = times[-1] - timedelta(microseconds=1), times[0]
    moments = {
        name: moment.isoformat()
        for name, moment in zip(DATES, (first, last), strict=True)
    }
    return f"{reverse('admin-compare')}{link_to(moments)}"


def _difference(form: MomentsForm) -> list[Row] | None:
    """Return what differs; None, with the reason in the form, where that is not known."""
    start, end = (rfc3339(form.cleaned_data[name]) or "" for name in DATES)
    name = "end_date"
    try:
        # In one snapshot, or what is renamed meanwhile would differ wherever it is named.
        with read_snapshot(temporary=True):
            called = names_at(end)
            name = "start_date"  # whose moment is refused from here on
            before = configuration_at(start, called)
            return difference(before, configuration_at(end))
    except ServiceError as error:
        form.add_error(name, error.message.removeprefix("at: "))
        return None


def _rows(
    request: HttpRequest, found: list[Row], moments: Mapping[str, datetime | None]
) -> list[dict[str, Any]]:
    pages = ObjectPages(request)
    known = pages.of_ids(pk for row in found for pk in row.get("ids", ()))
    known |= {
        name: page
        for name in _SINGLE.values()
        if (page := pages.only(name)) is not None
    }
    done = _done(found, moments)
    return [
        {
            "kind": _KINDS[row["section"]],
            "title": capfirst(_KINDS[row["section"]]),
            "name": _called(row["section"], row["key"]),
            "page": next((known[pk] for pk in _subjects(row) if pk in known), None),
            "within": _within(row),
            "action": row["action"],
            "tone": _TONES[row["action"]],
            "changes": change_table(row["fields"], {}),
            "fields": len(row["fields"]),
            "done": [done[pk] for pk in _subjects(row) if pk in done],
        }
        for row in found
    ]


def _subjects(row: Row) -> list[str]:
    """Return ids of an object, newest first; of what the account has one of, its kind."""
    single = _SINGLE.get(row["section"])
    return [single] if single else row["ids"][::-1]


def _called(section: str, key: list[str]) -> str:
    """Return what people call an object that is known by a key."""
    if section in _SINGLE:
        return ""
    *names, number = key
    text = " ".join(filter(None, names))
    return text if number == "1" else f"{text} ({number})"


def _within(row: Row) -> str:
    if "within" not in row:
        return ""
    whole = row["within"]
    return f"{_KINDS[whole['section']]} {_called(whole['section'], whole['key'])}"


def _done(
    found: Iterable[Row], moments: Mapping[str, datetime | None]
) -> dict[str, dict[str, Any]]:
    """Return what was done between the moments to the objects, by `_subjects`.

    The newest event about each, and how many there were.
    """
    start, end = (moments[name] for name in DATES)
    ids = {pk for row in found for pk in row.get("ids", ())} | {account_id()}
    said = AuditEvent.objects.filter(target_id__in=ids).exclude(history_key="")
    if start:
        said = said.filter(id__gt=last_id_at(start))
    if end:
        said = said.filter(id__lte=last_id_at(end))
    # Who is in a group is no configuration.
    codes = [c for c, (link, *_) in member_events().items() if owner_of(link) is Group]
    told = (
        said.exclude(activity_code__in=codes)
        .order_by()
        .values_list("target_type", "target_id")
    )
    counted = list(told.annotate(last=Max("id"), count=Count("id")))
    events = AuditEvent.objects.in_bulk([last for *_, last, _ in counted])
    return {
        kind if pk == account_id() else pk: {"event": events[last], "changes": count}
        for kind, pk, last, count in counted
    }
