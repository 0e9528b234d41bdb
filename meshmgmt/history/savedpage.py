"""What the admin site says after saving: who gets another map, and who has it."""

from typing import Any, Final

from django.contrib import admin
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse

from events.audit.reading import event_by_id, newest_of_request
from events.models import AuditEvent
from meshmgmt.adminsite import home
from meshmgmt.api.permissions import check_page, may
from meshmgmt.core.errors import InvalidArgument, NotFound
from meshmgmt.history.saved import effect_of, in_words, is_quick

PART: Final = "admin/history/includes/saved.html"


def saved_page(request: HttpRequest, event_id: str) -> TemplateResponse:
    """Tell how far the change of an event has come; to a script, that alone."""
    check_page(request, "peers")
    try:
        event = event_by_id(event_id)
    except NotFound as error:
        raise Http404 from error
    facts = {**_facts(request, event), **_progress(event)}
    if home.is_renewal(request):
        return TemplateResponse(request, PART, facts)
    site = admin.site.each_context(request)
    facts |= {**site, "title": "Who has the change", "event": event}
    return TemplateResponse(request, "admin/history/saved.html", facts)


def saved_part(request: HttpRequest, request_id: str) -> dict[str, Any]:
    """Return what the page after a write says of it; nothing if nothing was written."""
    event = newest_of_request(request_id) if may(request, "peers") else None
    if event is None:
        return {}
    facts = _facts(request, event)
    if is_quick():
        return {**facts, **_progress(event)}
    return {**facts, "told": "", "pending": True}


def _progress(event: AuditEvent) -> dict[str, Any]:
    try:
        effect = effect_of(event)
    except InvalidArgument:
        told = "Too much was changed since to tell who got another map."
        return {"told": told, "pending": False}
    progress = effect.progress()
    return {"told": in_words(effect, progress), "pending": not progress.is_done}


def _facts(request: HttpRequest, event: AuditEvent) -> dict[str, Any]:
    trail = ""
    if request.user.has_perm("events.view_auditevent"):
        trail = home.list_url(AuditEvent, {"search": event.request_id})
    return {"saved_url": reverse("admin-saved", args=[event.pk]), "trail_url": trail}
