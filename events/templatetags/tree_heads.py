"""Template tag with the newest signed head of the audit trail."""

from typing import Any

from django import template

from events.proof import heads

register = template.Library()


@register.inclusion_tag("admin/events/includes/tree_head.html")
def newest_head() -> dict[str, Any]:
    """Return size, time and root of the newest head, if there is one."""
    head = heads.newest()
    if head is None:
        return {}
    return {"head": head, "root": bytes(head.root_hash).hex()[: heads.SHORT_DIGITS]}
