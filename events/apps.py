"""Django application of the event streams."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """Audit trail, network traffic events and proxy access logs."""

    name = "events"
    verbose_name = "Events"

    def ready(self) -> None:
        """Connect the audit trail to the models' signals."""
        from events.audit import checks, emission, receivers  # noqa: PLC0415

        receivers.connect()
        emission.connect()
        checks.register()
