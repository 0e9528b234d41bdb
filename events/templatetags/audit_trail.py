"""Template tags of the audit trail: how it knows an object, and its newest signed head."""

from typing import Any

from django import template
from django.db.models import Model

from events.audit.changes import Change
from events.audit.specs import spec_of
from events.proof import heads

register = template.Library()


@register.simple_tag
def trail_target(instance: Model) -> str:
    """Return the target id of the events about an object.

    It is not always the object's own: events of tokens name the user, those of the DNS
    settings the account.
    """
    spec = spec_of(type(instance))
    if spec is None:
        return str(instance.pk)
    activity = next(iter(spec.activities()))
    return spec.target(Change(instance, instance.pk), activity)


@register.inclusion_tag("admin/events/includes/tree_head.html")
def newest_head() -> dict[str, Any]:
    """Return size, time and root of the newest head, if there is one."""
    head = heads.newest()
    if head is None:
        return {}
    return {"head": head, "root": bytes(head.root_hash).hex()[: heads.SHORT_DIGITS]}
