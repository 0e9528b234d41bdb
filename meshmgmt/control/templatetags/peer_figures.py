"""The connected peers on the home page of the admin."""

from django import template

from meshmgmt.control.server import figures
from meshmgmt.control.server.figures import Figures

register = template.Library()


@register.simple_tag
def peer_figures() -> Figures | None:
    """Return the figures of the process that serves peers, None when none does."""
    return figures.current()
