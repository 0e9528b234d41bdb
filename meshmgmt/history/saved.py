"""What a write did to peers: who gets another map, and who has it.

Asked for after it, so the write itself costs nothing more; the admin site says it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse

from events.audit.reading import event_by_id, newest_of_request, span_of_request
from events.models import AuditEvent
from meshmgmt.adminsite import home
from meshmgmt.adminsite.site import page
from meshmgmt.api.permissions import check_page, may
from meshmgmt.control.changes import newest_serial
from meshmgmt.control.server.figures import Delivered, delivered
from meshmgmt.core import clock
from meshmgmt.core.collector import nothing_to_collect
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.printable import counted
from meshmgmt.history.past import account_after
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh import Mesh, affected
from meshmgmt.meshstate.loading import load
from meshmgmt.plans.peers import told_anew

FEW_PEERS: Final = 1000
PART: Final = "admin/history/includes/saved.html"
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Effect:
    """Who gets another map; not `exact` is who may. Maps from `serial` on are these."""

    peer_ids: frozenset[str]
    exact: bool
    serial: int


def effect_of(event: AuditEvent) -> Effect:
    """Return what the request of an event did to peers.

    Raises InvalidArgument when too much was changed since.
    """
    return _effect(event.request_id, *span_of_request(event))


def is_quick() -> bool:
    """Tell whether that takes no longer than a page may: two maps are made for it."""
    return Peer.objects.count() <= FEW_PEERS


def in_words(effect: Effect, progress: Delivered) -> str:
    """Return a sentence such as `12 peers get another map; 9 of 9 online have it.`"""
    number = len(effect.peer_ids)
    if not number:
        return "No peer gets another map."
    verb = "get" if effect.exact else "may get"
    verb += "s" if number == 1 and effect.exact else ""
    said = f"{counted(number, 'peer')} {verb} another map"
    if not progress.online:
        return f"{said}; {'it is not' if number == 1 else 'none of them is'} online."
    has = "has" if progress.having == 1 else "have"
    said += f"; {progress.having:,} of {progress.online:,} online {has} it"
    if progress.elsewhere:
        said += f", {progress.elsewhere:,} are served by other hosts, which know"
    return f"{said}."


# What a request did never changes, and its page asks again and again for the progress.
@lru_cache(maxsize=_KEPT)
def _effect(request_id: str, first: int, last: int) -> Effect:
    """Compare the account before and after: as long as reading it twice takes."""
    # Read first: what others write while maps are made must not count as this change.
    serial = newest_serial()
    before, after = _mesh_after(first - 1), _mesh_after(last)
    return Effect(*told_anew(before, after, affected(before, after)), serial)


def _mesh_after(event_id: int) -> Mesh:
    with account_after(event_id), nothing_to_collect():
        return Mesh(load(), clock.now().timestamp())


def saved_page(request: HttpRequest, event_id: str) -> TemplateResponse:
    """Tell how far the change of an event has come; to a script, that alone."""
    check_page(request, "peers")
    event = event_by_id(event_id)
    facts = {**_facts(request, event), **_progress(event)}
    if home.is_renewal(request):
        return TemplateResponse(request, PART, facts)
    facts["event"] = event
    return page(request, "admin/history/saved.html", "Who has the change", facts)


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
    progress = delivered(effect.peer_ids, effect.serial)
    return {"told": in_words(effect, progress), "pending": not progress.is_done}


def _facts(request: HttpRequest, event: AuditEvent) -> dict[str, Any]:
    trail = ""
    if request.user.has_perm("events.view_auditevent"):
        trail = home.list_url(AuditEvent, {"search": event.request_id})
    return {"saved_url": reverse("admin-saved", args=[event.pk]), "trail_url": trail}
