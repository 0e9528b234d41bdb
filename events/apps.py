"""Django application of the event streams."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """Audit trail, network traffic events and proxy access logs."""

    name = "events"
    verbose_name = "Events"

    def ready(self) -> None:
        """Connect the audit trail to the models' signals, the streams to their jobs."""
        from events.audit import checks, emission, receivers  # noqa: PLC0415
        from events.streams import housekeeping, lookups  # noqa: F401, PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415

        receivers.connect()
        emission.connect()
        checks.register()
        housekeeping.register()
        modelmodules.assign("events", "events")
