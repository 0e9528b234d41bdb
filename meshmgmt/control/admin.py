"""Admin pages of proxy tokens, and those about one peer: its map and its debug bundles."""

import time
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path

from events.admin.here import Here
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.tokens import token_rotate
from meshmgmt.adminsite.fields import DurationField
from meshmgmt.adminsite.filters import EndFilter
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.pages import ServiceForm
from meshmgmt.adminsite.site import page
from meshmgmt.adminsite.tokens import TokenPages
from meshmgmt.api.permissions import check_page, may
from meshmgmt.control.checks import Unsendable
from meshmgmt.control.jobrules import LONGEST_MINUTES, MOST_LOG_FILES
from meshmgmt.control.maps import MapStore
from meshmgmt.control.models import JobStatus, PeerJob, ProxyToken
from meshmgmt.control.rendering import Table, tables
from meshmgmt.control.server import figures
from meshmgmt.control.services.jobs import check_peer, job_create
from meshmgmt.control.services.proxies import MAX_DAYS, proxy_tokens
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.roles import Operation
from meshmgmt.explain.resolution.model import text_of
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh.hints import hints

MODULE = "remote_jobs"
_TONES = {JobStatus.SUCCEEDED: "ok", JobStatus.FAILED: "bad"}

ROWS: Final = 50
SEARCH: Final = "search"


class BundleForm(forms.Form):
    """What a debug bundle shall hold."""

    log_file_count = forms.IntegerField(
        label="Log files",
        initial=10,
        min_value=1,
        max_value=MOST_LOG_FILES,
        help_text="How many of the newest ones.",
    )
    minutes = forms.IntegerField(
        label="Minutes to wait first",
        initial=0,
        min_value=0,
        max_value=LONGEST_MINUTES,
        help_text="Time to do what goes wrong, so that the logs hold it.",
    )
    anonymize = forms.BooleanField(
        label="Anonymise",
        initial=True,
        required=False,
        help_text="Addresses and names are replaced.",
    )

    def ask(self, peer: Peer) -> bool:
        """Ask the peer; return False, with the reason as an error, when it cannot be."""
        if not self.is_valid():
            return False
        data = self.cleaned_data
        parameters = {
            "bundle_for": data["minutes"] > 0,
            "bundle_for_time": data["minutes"],
            "log_file_count": data["log_file_count"],
            "anonymize": data["anonymize"],
        }
        try:
            job_create(peer_id=peer.pk, parameters=parameters)
        except ServiceError as error:
            self.add_error(None, error.message)
            return False
        return True


def jobs_page(request: HttpRequest, peer_id: str) -> HttpResponse:
    """Show the jobs of a peer, and take a new one."""
    asks = request.method == "POST"
    check_page(request, MODULE, Operation.CREATE if asks else Operation.READ)
    peer = get_object_or_404(Peer, pk=peer_id)
    form = BundleForm(request.POST or None)
    if asks and form.ask(peer):
        messages.success(request, "The peer is asked for a debug bundle.")
        return redirect("admin:control_jobs", peer.pk)
    refusal = ""
    try:
        check_peer(peer)
    except ServiceError as error:
        refusal = error.message
    facts = {
        "peer": peer,
        "form": form if may(request, MODULE, Operation.CREATE) else None,
        "refusal": refusal,
        "jobs": shown_jobs(peer),
    }
    return page(
        request, "admin/control/jobs.html", f"Debug bundles of {peer.name}", facts
    )


def shown_jobs(peer: Peer) -> list[dict[str, Any]]:
    """Return the jobs of a peer, newest first, with badges and the names of who asked."""
    jobs = list(PeerJob.objects.filter(peer=peer))
    users = User.objects.in_bulk({job.triggered_by for job in jobs})
    return [
        {
            "job": job,
            "state": badge(job.status, _TONES.get(JobStatus(job.status), "")),
            "asked_by": str(users.get(job.triggered_by, job.triggered_by)),
        }
        for job in jobs
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
    except Unsendable as error:
        refusal = f"The peer is told nothing: {error}"
    facts = {
        "peer": peer,
        "standing": standing(peer, store.serial),
        "serial": store.serial,
        "refusal": refusal,
        "reasons": [] if refusal else hints(store.mesh, peer_id),
        "search": request.GET.get(SEARCH, ""),
        "parts": [_part(request, table) for table in found],
    }
    return page(
        request, "admin/control/netmap.html", f"Network map of {peer.name}", facts
    )


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


class ProxyTokenForm(ServiceForm):
    """A new token; stored ones are never changed."""

    resource = proxy_tokens

    expires_in = DurationField(
        label="Life",
        unit=24 * 60 * 60,
        initial=365,
        help_text=f"0: for ever; at most {MAX_DAYS} days.",
    )


@admin.register(ProxyToken)
class ProxyTokenAdmin(TokenPages):
    """Tokens with which reverse proxies send their access logs."""

    form = ProxyTokenForm
    list_display = ["name", "created_at", "expires_at", "last_used", "valid"]
    list_filter = [EndFilter]
    search_fields = ["name", "=id"]
    new_fields = ["name", "expires_in"]
    fields = ["id", "name", "created_at", "expires_at", "last_used"]

    def get_urls(self) -> list[Any]:
        """Add the pages about one peer."""
        view = admin.site.admin_view
        return [
            path("netmap/<str:peer_id>/", view(map_page), name="control_netmap"),
            path("jobs/<str:peer_id>/", view(jobs_page), name="control_jobs"),
            *super().get_urls(),
        ]

    def rotate(
        self, request: HttpRequest, instance: ProxyToken, *, at_once: bool
    ) -> str:
        return str(token_rotate(proxy_tokens, instance.pk, at_once=at_once).plain)
