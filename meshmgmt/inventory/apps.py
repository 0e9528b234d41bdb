"""Django application of what groups hold: peers, networks, resources."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    name = "meshmgmt.inventory"
    label = "inventory"
    verbose_name = "Inventory"

    def ready(self) -> None:
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415
        from meshmgmt.inventory import (  # noqa: PLC0415
            audit,
            constraints,
            eventfacts,
            gauges,
            homecards,
            receivers,  # noqa: F401 - connects them
            selectors,
        )
        from meshmgmt.inventory.services import expiry  # noqa: PLC0415
        from observability.registries import register_host_names  # noqa: PLC0415

        audit.register_specs()
        gauges.register()
        homecards.contribute()
        eventfacts.register()
        constraints.register()
        register_host_names("peers", selectors.host_names)
        register_job("expire_logins", expiry.EVERY_SECONDS, expiry.expire_logins)
        modelmodules.assign("peers", "inventory.peer")
        modelmodules.assign("networks", "inventory")
