from django.apps import AppConfig


class ThrowawayConfig(AppConfig):
    name = "tests.throwaway"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what every resource is registered with."""
        from events.audit.specs import register, written  # noqa: PLC0415
        from groups import references  # noqa: PLC0415
        from meshmgmt.configuration import sections  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.history import kinds  # noqa: PLC0415
        from tests.throwaway import api, models  # noqa: PLC0415

        spec = written(
            models.Thing, "dns.zone", "groups", meta=lambda thing: {"name": thing.name}
        )
        register(spec)
        modelmodules.assign("dns", "throwaway")
        references.register(references.ListReference(models.ThingGroup, kind="thing"))
        kind = kinds.Kind("dns", check=kinds._sent_back(api.ThingViewSet))
        kinds.KINDS[models.Thing] = kind  # type: ignore[index]  # closed but for tests
        section = sections.Section("things", api.ThingViewSet)
        sections.SECTIONS = (*sections.SECTIONS, section)  # type: ignore[misc,assignment]
