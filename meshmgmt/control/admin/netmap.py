"""The admin's page that shows the network map of a peer."""

import time
from typing import Any, Final

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from events.admin.here import Here
from meshmgmt.api.permissions import check_page
from meshmgmt.control.admin.jobs import jobs_page
from meshmgmt.control.checks import Unsendable
from meshmgmt.control.maps import MapStore
from meshmgmt.control.rendering import Table, tables
from meshmgmt.control.server import figures
from meshmgmt.core.errors import NotFound
from meshmgmt.explain.resolution.model import text_of
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh.hints import hints

ROWS: Final = 50
SEARCH: Final = "search"


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
    check_page(request, "peers")
    peer = get_object_or_404(Peer, pk=peer_id)
    store = MapStore(serving=False)
    store.refresh()
    refusal, found = "", []
    try:
        found = tables(store, peer_id)
    except NotFound as error:
        raise Http404 from error
    except Unsendable as error:
        refusal = f"The peer is told nothing: {error}"
    facts = {
        **admin.site.each_context(request),
        "title": f"Network map of {peer.name}",
        "peer": peer,
        "standing": standing(peer, store.serial),
        "serial": store.serial,
        "refusal": refusal,
        "reasons": [] if refusal else hints(store.mesh, peer_id),
        "search": request.GET.get(SEARCH, ""),
        "parts": [_part(request, table) for table in found],
    }
    return TemplateResponse(request, "admin/control/netmap.html", facts)


def _part(request: HttpRequest, table: Table) -> dict[str, Any]:
    """Return the rows of a table that are looked for, a page of them at a time."""
    wanted = request.GET.get(SEARCH, "").casefold()
    rows = [
        row for row in table.rows if wanted in " ".join(map(text_of, row)).casefold()
    ]
    page = Paginator(rows, ROWS).get_page(request.GET.get(table.name))
    return {
        "table": table,
        "page": page,
        "ways": Here(request.GET).ways(page, table.name),
        "rows": [list(zip(table.headings, row, strict=True)) for row in page],
    }


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
