"""Pages that answer questions: explain a look-up, lint, what one peer gets."""

from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from dns.lint.finding import Finding, Severity
from dns.live import LiveAnswer, ask_all
from dns.resolution.model import RECORD_TYPES, Explanation
from dns.resolution.render import ENDS, STAGES
from dns.selectors.effective import name_explanation, peer_dns
from dns.selectors.findings import findings, is_behind
from groups.models import GroupPeer
from meshmgmt.core.errors import BadRequest, NotFound
from meshmgmt.core.roles import Operation, allowed
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.models import Peer


class ExplainForm(forms.Form):
    peer = forms.ModelChoiceField(
        queryset=Peer.objects.all(),
        widget=AutocompleteSelect(GroupPeer._meta.get_field("peer"), admin.site),
    )
    name = forms.CharField(help_text="As typed on the peer: wiki, www.example.org")
    type = forms.ChoiceField(choices=[(name, name) for name in RECORD_TYPES])
    live = forms.BooleanField(
        required=False,
        label="Ask the servers",
        help_text="From this host, 2 seconds each.",
    )


def may_read_dns(user: Any) -> bool:
    return allowed(getattr(user, "role", ""), "dns", Operation.READ)


def urls() -> list[URLPattern]:
    view = admin.site.admin_view
    return [
        path("explain/", view(explain_page), name="dns_explain"),
        path("lint/", view(lint_page), name="dns_lint"),
        path("peer/<str:peer_id>/", view(peer_page), name="dns_peer"),
    ]


def explain_page(request: HttpRequest) -> TemplateResponse:
    """Show the form and, once it is filled in, the explanation."""
    _check(request)
    form = ExplainForm(request.GET or None)
    explanation: Explanation | None = None
    answers: list[LiveAnswer] = []
    if request.GET and form.is_valid():
        data = form.cleaned_data
        try:
            with read_snapshot():
                explanation = name_explanation(
                    data["peer"].pk, data["name"], data["type"]
                )
        except BadRequest as error:
            form.add_error("name", error.message)
        if explanation is not None and data["live"]:
            answers = ask_all(explanation.outcome, explanation.type)
    facts = {
        "form": form,
        "media": form.media,
        "explanation": explanation,
        "answers": answers,
        "ends": ENDS,
        "stages": STAGES,
    }
    return _page(request, "explain", "Explain a look-up", facts)


def lint_page(request: HttpRequest) -> TemplateResponse:
    """Show the findings, the serious ones first, and when they were computed."""
    _check(request)
    kept = findings(anew="anew" in request.GET)
    serious = [f for f in kept.findings if f.severity is Severity.WARNING]
    others = [f for f in kept.findings if f.severity is not Severity.WARNING]
    rows = [(finding, _path(finding)) for finding in (*serious, *others)]
    facts = {
        "kept": kept,
        "behind": is_behind(kept),
        "rows": rows,
        "warnings": len(serious),
        "notes": len(others),
    }
    return _page(request, "lint", "DNS findings", facts)


def peer_page(request: HttpRequest, peer_id: str) -> TemplateResponse:
    """Show what one peer gets, with all records."""
    _check(request)
    try:
        with read_snapshot():
            config = peer_dns(peer_id)
    except NotFound as error:
        raise Http404 from error
    title = f"DNS of {config.peer_name}"
    return _page(request, "peer", title, {"config": config, "record_limit": None})


def _check(request: HttpRequest) -> None:
    if not may_read_dns(request.user):
        raise PermissionDenied


def _page(
    request: HttpRequest, name: str, title: str, facts: dict[str, Any]
) -> TemplateResponse:
    context = {**admin.site.each_context(request), "title": title, **facts}
    return TemplateResponse(request, f"admin/dns/{name}.html", context)


PAGES: Final = {
    "zone": "admin:dns_zone_change",
    "nameserver_group": "admin:dns_nameservergroup_change",
    "group": "admin:groups_group_change",
    "peer": "admin:inventory_peer_change",
}


def _path(finding: Finding) -> str:
    """The name of the admin page of what a finding is about, "" without one."""
    return PAGES.get(finding.kind, "") if finding.id else ""
