"""Template tag with the newest audit events, for the admin site's first page."""

from django import template
from django.http import HttpRequest

from events.models import AuditEvent
from meshmgmt.core.roles import Operation, allowed

register = template.Library()


@register.simple_tag
def recent_events(request: HttpRequest, count: int = 12) -> list[AuditEvent]:
    """Return the newest audit events, none for users who may not read them."""
    role = getattr(request.user, "role", "")
    if not allowed(role, "events", Operation.READ):
        return []
    return list(AuditEvent.objects.order_by("-timestamp", "-id")[:count])
