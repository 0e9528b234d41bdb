"""Pages that answer questions: a look-up, findings, what a peer gets, who reaches whom."""

from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.http import HttpRequest, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse_lazy

from dns.content import RECORD_TYPES
from events.admin.here import Here
from events.admin.names import Kinds, Names, Unclear, meant, suggestions
from groups.models import GroupPeer
from meshmgmt.adminsite.site import page
from meshmgmt.api.permissions import check_page
from meshmgmt.core import history
from meshmgmt.core.errors import BadRequest, NotFound, ServiceError
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import name_explanation, peer_dns
from meshmgmt.explain.findings import findings, is_behind
from meshmgmt.explain.graphing import (
    WIDTH,
    access_graph,
    members,
    picture,
    state,
    traffic,
)
from meshmgmt.explain.lint.finding import Finding, Severity
from meshmgmt.explain.live import LiveAnswer, ask_all
from meshmgmt.explain.reaching import destination_of, headline, reach, traffic_of
from meshmgmt.explain.resolution.render import ENDS
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.selectors import peer_known_as
from meshmgmt.mesh.graph import Graph
from meshmgmt.mesh.reach import LAST_PORT, PROTOCOLS

_PEERS: Final = ("peer",)
_SUGGESTED: Final = {
    "source": Kinds("peer", _PEERS),
    "destination": Kinds("peer or resource", (*_PEERS, "networkresource")),
    "focus": Kinds("object", ("group", "policy", "networkresource", *_PEERS)),
}
"""What the names are of that fields take."""

PAGES: Final = {
    "zone": "admin:dns_zone_change",
    "nameserver_group": "admin:dns_nameservergroup_change",
    "group": "admin:groups_group_change",
    "peer": "admin:inventory_peer_change",
    "policy": "admin:access_policy_change",
    "resource": "admin:inventory_networkresource_change",
    "route": "admin:access_route_change",
}


def suggesting(name: str) -> dict[str, Any]:
    """Return the attributes of a field that suggests names as one types."""
    url = reverse_lazy("admin-reach-names")
    return {"list": f"known-{name}", "autocomplete": "off", "data-names": url}


class ExplainForm(forms.Form):
    peer = forms.ModelChoiceField(
        queryset=Peer.objects.all(),
        # The widget takes a foreign key: any that leads to peers will do.
        widget=AutocompleteSelect(GroupPeer._meta.get_field("peer"), admin.site),
    )
    name = forms.CharField(help_text="As typed on the peer: wiki, www.example.org")
    type = forms.ChoiceField(choices=[(name, name) for name in RECORD_TYPES])
    live = forms.BooleanField(
        required=False,
        label="Ask the servers",
        help_text="From this host, 2 seconds each.",
    )


class ReachForm(forms.Form):
    """Texts, which need no script; what is known as several is refused."""

    source = forms.CharField(label="From", help_text="A peer: name, address or id")
    destination = forms.CharField(
        label="To", help_text="A peer, a resource, an address or a domain"
    )
    protocol = forms.ChoiceField(choices=[(name, name) for name in PROTOCOLS])
    port = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=LAST_PORT,
        help_text="Of tcp or udp; empty: all",
    )
    at = forms.CharField(
        required=False,
        label="At",
        help_text="A moment of the past, as in 2026-03-01T08:00:00Z; empty: now",
    )

    def __init__(self, data: Any, **options: Any) -> None:
        super().__init__(data, **options)
        for name in ("source", "destination"):
            self.fields[name].widget.attrs |= suggesting(name)

    def clean(self) -> dict[str, Any]:
        """Find what the texts mean."""
        data = super().clean() or {}
        for name, read in (
            ("source", lambda text: peer_known_as(text).pk),
            ("destination", lambda text: destination_of(text, by_name=True)),
            ("port", lambda port: traffic_of(data["protocol"], port)),
        ):
            # A port means nothing without its protocol; faults of fields are told
            # already.
            if name in data and "protocol" in data:
                try:
                    data[name] = read(data[name])
                except ServiceError as error:
                    self.add_error(name, error.message)
        return data


def explain_page(request: HttpRequest) -> TemplateResponse:
    """Show the form and, once it is filled in, the explanation."""
    check_page(request, "dns")
    asked = "name" in request.GET
    form = ExplainForm(request.GET if asked else None, initial=request.GET.dict())
    explanation = None
    answers: list[LiveAnswer] = []
    if asked and form.is_valid():
        data = form.cleaned_data
        try:
            with read_snapshot():
                explanation = name_explanation(
                    data["peer"].pk, data["name"], data["type"]
                )
        except BadRequest as error:
            form.add_error("name", error.message)
        # Outside of the snapshot, for servers may take seconds to answer.
        if explanation is not None and data["live"]:
            answers = ask_all(explanation.outcome, explanation.type)
    facts = {
        "form": form,
        "media": form.media,
        "explanation": explanation,
        "answers": answers,
        "ends": ENDS,
    }
    return page(request, "admin/explain/explain.html", "Explain a look-up", facts)


def reach_page(request: HttpRequest) -> TemplateResponse:
    """Show the form and, once it is filled in, whether it is let through."""
    check_page(request, "policies")
    asked = "source" in request.GET and "destination" in request.GET
    form = ReachForm(request.GET if asked else None, initial=request.GET.dict())
    at, answer = request.GET.get(history.PARAMETER, "") if asked else "", None
    try:
        # Names are looked up as they were then, too.
        with history.account_at(at), read_snapshot():
            if asked and form.is_valid():
                data = form.cleaned_data
                ends = data["source"], data["destination"]
                answer = reach(*ends, data["port"], past=bool(at))
    except ServiceError as error:
        form.add_error("at", error.message)
    facts = {
        "form": form,
        "answer": answer,
        "headline": headline(answer) if answer else "",
    }
    return page(request, "admin/explain/reach.html", "Can A reach B?", facts)


def names_page(request: HttpRequest) -> JsonResponse:
    """Suggest names of what may be asked about."""
    check_page(request, "policies")
    return suggestions(request, _SUGGESTED.get(request.GET.get("filter", "")))


def lint_page(request: HttpRequest) -> TemplateResponse:
    """Show the findings, the serious ones first, and when they were computed."""
    check_page(request, "dns")
    kept = findings(anew="anew" in request.GET)
    # Serious ones first; within both the order of the catalogue stays.
    found = sorted(kept.findings, key=lambda each: each.severity is Severity.INFO)
    facts = {
        "kept": kept,
        "behind": is_behind(kept),
        "rows": [(finding, _path(finding)) for finding in found],
        **kept.count._asdict(),
    }
    return page(request, "admin/explain/lint.html", "DNS findings", facts)


def peer_page(request: HttpRequest, peer_id: str) -> TemplateResponse:
    """Show what one peer gets, with all records."""
    check_page(request, "dns")
    with read_snapshot():
        config = peer_dns(peer_id)
    title = f"DNS of {config.peer_name}"
    facts = {"config": config, "record_limit": None}
    return page(request, "admin/explain/peer.html", title, facts)


def _path(finding: Finding) -> str:
    """The name of the admin page of what a finding is about, "" without one."""
    return PAGES.get(finding.subject.kind, "") if finding.subject.id else ""


class FocusForm(forms.Form):
    focus = forms.CharField(
        required=False,
        label="Only what is about",
        help_text="A group, policy, resource or peer: name or id; empty: everything",
        widget=forms.TextInput(attrs=suggesting("focus")),
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)
        self.request = request

    def clean_focus(self) -> str:
        """Find what the text means; where it fits several, lead to each."""
        text = self.cleaned_data["focus"]
        if not text:
            return ""
        try:
            names, kinds = Names(self.request), _SUGGESTED["focus"]
            return meant(names, kinds, text, {}, lambda _word: False)
        except Unclear as error:
            label, here = str(self.fields["focus"].label), Here(self.request.GET)
            raise forms.ValidationError(error.shown("focus", label, here)) from error


def graph_page(request: HttpRequest) -> TemplateResponse:
    """Show who may begin what with whom: a table, and a picture of the same."""
    check_page(request, "policies")
    form = FocusForm(request)
    facts: dict[str, Any] = {"form": form, "width": WIDTH}
    drawn = None
    try:
        if form.is_valid():
            with read_snapshot():
                drawn = access_graph(form.cleaned_data["focus"])
    except NotFound as error:
        form.add_error("focus", error.message)
    if drawn is not None:
        facts |= {"graph": drawn, "picture": picture(drawn), "rows": rows(drawn)}
        used = {id_ for edge in drawn.edges for id_ in edge.ends}
        facts["unused"] = [each for each in drawn.nodes if each.id not in used]
    return page(request, "admin/explain/graph.html", "Who reaches whom", facts)


def rows(drawn: Graph) -> list[dict[str, Any]]:
    """The rules of a graph, with their ends and words, for a table."""
    ends = {end.id: (end, members(end)) for end in drawn.nodes}
    return [
        {
            "edge": edge,
            "sources": [ends[id_] for id_ in edge.sources],
            "destinations": [ends[id_] for id_ in edge.destinations],
            "traffic": traffic(edge),
            "state": state(edge) or "in force",
        }
        for edge in drawn.edges
    ]
