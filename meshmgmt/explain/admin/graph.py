"""The admin page of the access graph, and the way there from other pages."""

from typing import Any, Final

from django import forms
from django.db.models import Model, Q
from django.http import HttpRequest
from django.template.response import TemplateResponse

from groups.models import Group
from meshmgmt.access.models import Policy
from meshmgmt.api.permissions import check_page
from meshmgmt.core.errors import NotFound, ServiceError
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.admin.questions import page, suggesting
from meshmgmt.explain.graphing import (
    FOCUS,
    WIDTH,
    access_graph,
    members,
    picture,
    state,
    traffic,
)
from meshmgmt.inventory.models import NetworkResource, Peer
from meshmgmt.inventory.selectors import only_one
from meshmgmt.mesh.graph import Edge, Graph

_KINDS: Final[tuple[type[Model], ...]] = (Group, Policy, NetworkResource, Peer)


class FocusForm(forms.Form):
    focus = forms.CharField(
        required=False,
        label="Only what is about",
        help_text="A group, policy, resource or peer: name or id; empty: everything",
        widget=forms.TextInput(attrs=suggesting("focus")),
    )

    def clean_focus(self) -> str:
        """Find what the text means."""
        text = self.cleaned_data["focus"]
        # The first kind that knows the text: most have names of their own.
        for kind in _KINDS if text else ():
            found = kind._default_manager.filter(Q(pk=text) | Q(name=text))
            if found.exists():
                try:
                    return str(only_one(found, FOCUS, text).pk)
                except ServiceError as error:
                    raise forms.ValidationError(error.message) from error
        if text:
            raise forms.ValidationError(NotFound.of(FOCUS, text).message)
        return ""


def graph_page(request: HttpRequest) -> TemplateResponse:
    """Show who may begin what with whom: a table, and a picture of the same."""
    check_page(request, "policies")
    form = FocusForm(request.GET)
    facts: dict[str, Any] = {"form": form, "width": WIDTH}
    if form.is_valid():
        with read_snapshot():
            drawn = access_graph(form.cleaned_data["focus"])
        facts |= {"graph": drawn, "picture": picture(drawn), "rows": rows(drawn)}
        used = {id_ for edge in drawn.edges for id_ in edge.ends}
        facts["unused"] = [each for each in drawn.nodes if each.id not in used]
    return page(request, "admin/explain/graph.html", "Who reaches whom", facts)


def rows(drawn: Graph) -> list[dict[str, Any]]:
    """The rules of a graph, with their ends and words, for a table."""
    ends = {end.id: (end, members(end)) for end in drawn.nodes}

    def row(edge: Edge) -> dict[str, Any]:
        return {
            "edge": edge,
            "sources": [ends[id_] for id_ in edge.sources],
            "destinations": [ends[id_] for id_ in edge.destinations],
            "traffic": traffic(edge),
            "state": state(edge) or "in force",
        }

    return [row(edge) for edge in drawn.edges]
