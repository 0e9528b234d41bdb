"""The cards of the admin site's first page."""

from typing import Any

from django import template

from meshmgmt.adminsite import home
from meshmgmt.core import clock

register = template.Library()


@register.inclusion_tag("admin/includes/home_cards.html", takes_context=True)
def home_cards(context: template.Context) -> dict[str, Any]:
    """Show what the rooms say to the signed-in user, and when they said it."""
    return {"cards": home.cards(context["request"]), "now": clock.now()}
