"""What deliveries have for the other rooms."""

from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import HOUR, register_job
from meshmgmt.delivery import audit, homecards, selectors, worker
from observability.registries import register_inventory


def register() -> None:
    audit.register()
    homecards.register()
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
