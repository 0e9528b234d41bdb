"""What the peer protocol adds to pages of other rooms."""

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from meshmgmt.control.admin import standing
from meshmgmt.control.changes import newest_serial
from meshmgmt.inventory.models import Peer

register = template.Library()


@register.simple_tag
def map_standing(peer: Peer) -> SafeString:
    """Say whether a peer holds its newest map, with a link to the map."""
    text = standing(peer, newest_serial())
    page = reverse("admin:control_netmap", args=[peer.pk])
    return format_html('{} <a href="{}">Show it</a>', text, page)
