"""What deliveries have for the other rooms."""

from collections.abc import Iterator, Mapping

from django.db.models import Q
from django.http import HttpRequest

from events.activities import Activity
from events.audit import specs
from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.adminsite.home import Figure, Place, Tone
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import HOUR, register_job
from meshmgmt.delivery import selectors, worker
from meshmgmt.delivery.models import CONFIGURED, Subscription
from meshmgmt.delivery.rules import masked
from observability.registries import register_inventory

_SECRET = ("sealed_secret", "secret_made")


def register() -> None:
    _register_audit()
    home.contribute(Place.LAST_HOUR, "events", _failing)
    modelmodules.assign("events", "delivery")
    register_constraint(
        "a subscription with this name exists already",
        "subscription_name_unique",
        "delivery_subscription.name",
    )
    register_job("deliver_events", worker.EVERY_SECONDS, worker.serve_due)
    register_job("forget_dead_letters", HOUR, worker.forget_dead_letters)
    register_inventory(
        "mesh_delivery_lag_seconds",
        "Age of the oldest event still to be sent, by subscription.",
        ("subscription",),
        selectors.lags,
    )


def _register_audit() -> None:
    """Register the spec of this app; how far the sending has come is not audited."""
    columns = {column.attname for column in Subscription._meta.concrete_fields}
    specs.register(
        specs.written(
            Subscription,
            "event.subscription",
            fields=dict.fromkeys(_SECRET, Activity.EVENT_SUBSCRIPTION_SECRET),
            unaudited=frozenset(columns - {*CONFIGURED, *_SECRET, "created_at"}),
            secret=frozenset({"sealed_secret"}),
            shown={"target": masked},
            random=frozenset({"sealed_secret"}),
            meta=lambda one: {"name": one.name, "stream": one.stream},
        )
    )


class DeliveryStateFilter(StateFilter):
    """Subscriptions by how their deliveries go."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states."""
        return {
            "failing": Q(enabled=True, failures__gt=0),
            "delivering": Q(enabled=True, failures=0),
            "disabled": Q(enabled=False),
        }


def _failing(request: HttpRequest) -> Iterator[Figure]:
    shown = {"failing": ("failing subscription{s}", Tone.BAD)}
    yield from home.state_figures(request, Subscription, DeliveryStateFilter, shown)
