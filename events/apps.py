"""Django application of the event streams."""

from typing import Final

from django.apps import AppConfig

HOUR: Final = 3600.0


class EventsConfig(AppConfig):
    """Audit trail, network traffic events and proxy access logs."""

    name = "events"
    verbose_name = "Events"

    def ready(self) -> None:
        from events.admin import homecards  # noqa: PLC0415
        from events.audit import checks, signals  # noqa: F401, PLC0415
        from events.audit.reading import newest  # noqa: PLC0415
        from events.streams import partitions, retention  # noqa: PLC0415
        from meshmgmt.api import versions  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415

        register_job("events.partitions", HOUR, partitions.make_ahead)
        register_job("events.retention", HOUR, retention.prune)
        modelmodules.assign("events", "events")
        versions.register_state(newest)
        homecards.contribute()
