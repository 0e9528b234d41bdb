"""Tags of the admin pages of DNS."""

from typing import Any

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dns.admin.pages import PAGES, may_read_dns
from dns.resolution.model import Phrase, Subject
from dns.selectors.effective import peer_dns
from meshmgmt.core.transactions import read_snapshot

register = template.Library()

SHOWN_RECORDS = 20


@register.inclusion_tag("admin/dns/includes/configuration.html", takes_context=True)
def effective_dns(context: template.Context, peer_id: str) -> dict[str, Any]:
    """Show what a peer gets, with the first records of each zone."""
    request = context.get("request")
    if request is None or not may_read_dns(request.user):
        return {"config": None}
    with read_snapshot():
        config = peer_dns(peer_id)
    return {"config": config, "record_limit": SHOWN_RECORDS}


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


@register.simple_tag
def object_link(page: str, identifier: str, text: str) -> str:
    """Return a link to an object's admin page, plain text when it has none."""
    try:
        return format_html(
            '<a href="{}">{}</a>', reverse(page, args=[identifier]), text
        )
    except NoReverseMatch:
        return format_html("{}", text)
