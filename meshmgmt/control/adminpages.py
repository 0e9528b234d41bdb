"""The admin's page that shows the network map of a peer."""

import time

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from meshmgmt.control.jobpage import jobs_page
from meshmgmt.control.maps import MapStore, Unsendable
from meshmgmt.control.rendering import render
from meshmgmt.control.server import figures
from meshmgmt.core.errors import NotFound
from meshmgmt.core.roles import Operation, allowed
from meshmgmt.inventory.models import Peer


def urls() -> list[URLPattern]:
    """Return the paths of the pages about one peer."""
    pages = {"netmap": map_page, "jobs": jobs_page}
    return [
        path(
            f"{name}/<str:peer_id>/",
            admin.site.admin_view(page),
            name=f"control_{name}",
        )
        for name, page in pages.items()
    ]


def map_page(request: HttpRequest, peer_id: str) -> TemplateResponse:
    """Show the map that a peer should hold, and whether it holds it."""
    role = getattr(request.user, "role", "")
    if not allowed(role, "peers", Operation.READ):
        raise PermissionDenied
    peer = get_object_or_404(Peer, pk=peer_id)
    store = MapStore(serving=False)
    store.refresh()
    try:
        text = render(store, peer_id)
    except NotFound as error:
        raise Http404 from error
    except Unsendable as error:
        text = f"The peer is told nothing: {error}"
    facts = {
        **admin.site.each_context(request),
        "title": f"Network map of {peer.name}",
        "peer": peer,
        "text": text,
        "standing": standing(peer, store.serial),
    }
    return TemplateResponse(request, "admin/control/netmap.html", facts)


def standing(peer: Peer, serial: int) -> str:
    """Say whether a peer holds the map of that serial, by what its process left."""
    if not peer.connected:
        return "The peer is not connected: it gets this map when it connects."
    here = (each for each in figures.current() if each.process == peer.stream_process)
    if (found := next(here, None)) is None:
        return "Whether the peer has this map is known on the host that serves it."
    if (wait := found.waiting.get(peer.pk)) is not None:
        since, held = wait
        has = f"has the map of serial {held}" if held else "has none yet"
        return f"The peer {has} and waits for this one, {time.time() - since:.0f} s so far."
    if found.serial < serial:
        return f"The peer has the map of serial {found.serial}; this one is on its way."
    return f"Up to date: the peer has this map, as of serial {found.serial}."
