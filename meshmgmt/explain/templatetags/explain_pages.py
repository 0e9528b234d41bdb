"""Tags of what the admin pages explain."""

from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from meshmgmt.api.permissions import may
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.admin import PAGES, rows
from meshmgmt.explain.answers import peer_dns
from meshmgmt.explain.graphing import policy_effect
from meshmgmt.explain.resolution.model import Phrase
from meshmgmt.mesh.graph import neighbours
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.reasons import Subject

register = template.Library()

SHOWN_RECORDS = 20


@register.simple_tag
def sight_of(peer_id: str) -> PeerDns:
    """Return the mesh around a peer, for the tags below; it is read once for them."""
    with read_snapshot():
        return peer_dns(peer_id)


@register.inclusion_tag("admin/explain/includes/configuration.html", takes_context=True)
def effective_dns(context: template.Context, sight: PeerDns) -> dict[str, Any]:
    """Show what a peer gets, with the first records of each zone."""
    request = context.get("request")
    if request is None or not may(request, "dns"):
        return {"config": None}
    return {"config": sight, "record_limit": SHOWN_RECORDS}


@register.inclusion_tag("admin/explain/includes/neighbours.html", takes_context=True)
def reach_of(context: template.Context, sight: PeerDns) -> dict[str, Any]:
    """Show whom a peer reaches and who reaches it, by which policies."""
    request = context.get("request")
    if request is None or not may(request, "policies"):
        return {"shown": False}
    found = neighbours(sight.mesh, sight.peer_id)
    sides = found and (("Reaches", found.reaches), ("Is reached by", found.reached_by))
    return {"shown": True, "sides": sides, "peer_id": sight.peer_id}


@register.inclusion_tag("admin/explain/includes/policyeffect.html")
def effect_of(policy_id: str) -> dict[str, Any]:
    """Show who may do what because of a policy, and what would change without it."""
    with read_snapshot():
        # On the page of a policy, whose readers may read all policies.
        drawn, without = policy_effect(policy_id)
    return {"rows": rows(drawn), "without": without}


@register.filter
def lookup(mapping: dict[str, Any], key: str) -> Any:
    """Return the entry of a mapping, "" without one."""
    return mapping.get(key, "")


@register.filter
def linked(phrase: Phrase) -> SafeString:
    """Return the words of a verdict with links to the objects they name."""
    return format_html_join("", "{}", ((_part(part),) for part in phrase))


def _part(part: str | Subject) -> str:
    if isinstance(part, str):
        return part
    name = format_html("<bdi>{}</bdi>", part.name)
    page = PAGES.get(part.kind, "")
    return object_link(page, part.id, name) if page else name


@register.filter
def linked_to(text: str, subject: Subject | None) -> SafeString:
    """Return a text in which the name of an object is a link to it."""
    before, name, after = text.partition(subject.name) if subject else (text, "", "")
    return linked((before, subject, after) if subject and name else (text,))


@register.filter
def why(source: str, destination: str) -> str:
    """Return the address of the page that says whether a peer reaches something."""
    query = urlencode({"source": source, "destination": destination})
    return f"{reverse('admin-reach')}?{query}"


@register.simple_tag
def object_link(page: str, identifier: str, text: str) -> str:
    """Return a link to an object's admin page, plain text when it has none."""
    try:
        return format_html(
            '<a href="{}">{}</a>', reverse(page, args=[identifier]), text
        )
    except NoReverseMatch:
        return format_html("{}", text)
