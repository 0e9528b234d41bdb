"""Django application of the event streams."""

from typing import Final

from django.apps import AppConfig

HOUR: Final = 3600.0


class EventsConfig(AppConfig):
    name = "events"
    verbose_name = "Events"

    def ready(self) -> None:
        from events.activities import Activity  # noqa: PLC0415
        from events.admin import homecards  # noqa: PLC0415
        from events.audit import checks, signals  # noqa: F401, PLC0415
        from events.audit import retention as trail_retention  # noqa: PLC0415
        from events.audit.histories import history_key  # noqa: PLC0415
        from events.audit.reading import newest  # noqa: PLC0415
        from events.audit.specs import declare_emitted  # noqa: PLC0415
        from events.models.audit import HistoryKeyField  # noqa: PLC0415
        from events.proof import heads, published  # noqa: PLC0415
        from events.streams import citus, partitions, retention, rollups  # noqa: PLC0415
        from meshmgmt.api import versions  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415
        from observability.registries import register_readiness_check  # noqa: PLC0415

        HistoryKeyField.key_of = staticmethod(history_key)
        register_job("events.partitions", HOUR, partitions.make_ahead)
        register_job("events.retention", HOUR, retention.prune)
        register_job("events.roll_ups", rollups.EVERY_SECONDS, rollups.roll_up)
        register_job("events.proof", heads.EVERY_SECONDS, heads.keep_up)
        register_job("events.heads", heads.EVERY_SECONDS, published.publish)
        register_job("events.audit_retention", HOUR, trail_retention.prune)
        # Not required: what is no event is answered, and no other host could do better.
        register_readiness_check("streams", citus.absence, required=False)
        declare_emitted(
            "events.proof",
            Activity.AUDIT_CLOCK_BACK,
            Activity.AUDIT_KEY_CREATE,
            Activity.AUDIT_KEY_ROTATE,
            Activity.AUDIT_PRUNE,
            Activity.AUDIT_RESTORE_ACCEPT,
        )
        modelmodules.assign("events", "events")
        versions.register_state(newest)
        homecards.contribute()
