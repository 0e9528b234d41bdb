"""Django application of deliveries."""

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    """Sends events on to those who subscribed to them."""

    name = "meshmgmt.delivery"
    label = "delivery"
    verbose_name = "Delivery of events"

    def ready(self) -> None:
        """Join the audit trail, the jobs, the metrics and the admin's permissions."""
        from meshmgmt.api.exceptions import register_constraint  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415
        from meshmgmt.delivery import (  # noqa: PLC0415
            audit,
            homecards,
            selectors,
            worker,
        )
        from observability.registries import register_inventory  # noqa: PLC0415

        audit.register_specs()
        modelmodules.assign("events", "delivery")
        for name in ("subscription_name_unique", "delivery_subscription.name"):
            register_constraint(name, "a subscription with this name exists already")
        register_job("deliver_events", worker.EVERY_SECONDS, worker.serve_due)
        register_job("forget_dead_letters", 3600.0, worker.forget_dead_letters)
        register_inventory(
            "mesh_delivery_lag_seconds",
            "Age of the oldest event still to be sent, by subscription.",
            ("subscription",),
            selectors.lags,
        )
        homecards.contribute()
