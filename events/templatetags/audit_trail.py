"""Template tag that tells by which id the audit trail knows an object."""

from django import template
from django.db.models import Model

from events.audit.changes import Change
from events.audit.specs import spec_of

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
