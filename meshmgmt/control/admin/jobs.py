"""The admin's page that asks a peer for a debug bundle, and shows what became of others."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from meshmgmt.accounts.models import User
from meshmgmt.adminsite.look import badge
from meshmgmt.api.permissions import check_page, may
from meshmgmt.control.jobrules import LONGEST_MINUTES, MOST_LOG_FILES
from meshmgmt.control.models import JobStatus, PeerJob
from meshmgmt.control.services.jobs import job_create
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.roles import Operation
from meshmgmt.inventory.models import Peer

MODULE = "remote_jobs"
_TONES = {JobStatus.SUCCEEDED: "ok", JobStatus.FAILED: "bad"}


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
    facts: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": f"Debug bundles of {peer.name}",
        "peer": peer,
        "form": form if may(request, MODULE, Operation.CREATE) else None,
        "jobs": shown_jobs(peer),
    }
    return TemplateResponse(request, "admin/control/jobs.html", facts)


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
