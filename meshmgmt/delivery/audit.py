"""Which activities changes of subscriptions emit."""

from events.activities import Activity
from events.audit.specs import AuditSpec, declare_emitted, register
from meshmgmt.delivery.models import STATE, Subscription


def register_specs() -> None:
    """Register the spec of this app."""
    register(
        AuditSpec(
            model=Subscription,
            created=Activity.EVENT_SUBSCRIPTION_CREATE,
            updated=Activity.EVENT_SUBSCRIPTION_UPDATE,
            deleted=Activity.EVENT_SUBSCRIPTION_DELETE,
            unaudited=STATE,
            secret=frozenset({"sealed_secret"}),
            random=frozenset({"sealed_secret"}),
            meta=lambda one: {"name": one.name, "stream": one.stream},
        )
    )
    declare_emitted(
        "meshmgmt.delivery",
        Activity.EVENT_SUBSCRIPTION_REPLAY,
        Activity.EVENT_SUBSCRIPTION_TEST,
    )
