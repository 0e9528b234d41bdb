"""Which activities changes of subscriptions emit."""

from events.activities import Activity
from events.audit import specs
from events.audit.specs import AuditSpec
from meshmgmt.delivery.models import CONFIGURED, Subscription
from meshmgmt.delivery.rules import masked

_SECRET = ("sealed_secret", "secret_made")


def register() -> None:
    """Register the spec of this app; how far the sending has come is not audited."""
    columns = {column.attname for column in Subscription._meta.concrete_fields}
    specs.register(
        AuditSpec(
            model=Subscription,
            created=Activity.EVENT_SUBSCRIPTION_CREATE,
            updated=Activity.EVENT_SUBSCRIPTION_UPDATE,
            deleted=Activity.EVENT_SUBSCRIPTION_DELETE,
            fields=dict.fromkeys(_SECRET, Activity.EVENT_SUBSCRIPTION_SECRET),
            unaudited=frozenset(columns - {*CONFIGURED, *_SECRET, "created_at"}),
            secret=frozenset({"sealed_secret"}),
            shown={"target": masked},
            random=frozenset({"sealed_secret"}),
            meta=lambda one: {"name": one.name, "stream": one.stream},
        )
    )
