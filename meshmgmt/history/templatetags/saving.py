"""What follows the message that something was saved."""

from typing import Any

from django import template

from meshmgmt.adminsite.trail import request_of
from meshmgmt.history.saved import PART, saved_part

register = template.Library()


@register.inclusion_tag(PART, takes_context=True)
def saved(context: template.Context, message: Any) -> dict[str, Any]:
    """Say who gets another map because of what a message is about, if it is a write."""
    request_id = request_of(message)
    return saved_part(context["request"], request_id) if request_id else {}
