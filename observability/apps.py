"""Django application of metrics, logs and health."""

from django.apps import AppConfig


class ObservabilityConfig(AppConfig):
    name = "observability"
    verbose_name = "Observability"

    def ready(self) -> None:
        """Measure the account write lock and the rate limits; join the first page."""
        from events.activities import Activity  # noqa: PLC0415
        from events.audit.specs import declare_emitted  # noqa: PLC0415
        from observability import homecards  # noqa: PLC0415
        from observability.metrics import limits, store  # noqa: PLC0415

        store.connect()
        homecards.contribute()
        declare_emitted("observability.admin.loglevels", Activity.LOG_LEVEL_UPDATE)
        limits.connect()
