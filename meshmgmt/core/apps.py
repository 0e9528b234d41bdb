"""Django application of the core: it lets all rooms join, by their `room.py`."""

from importlib import import_module

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule


class CoreConfig(AppConfig):
    name = "meshmgmt.core"

    def ready(self) -> None:
        """Call the `register()` of each room, which declares all it has for others."""
        # Imported no sooner: what they name needs the models of all rooms.
        for app in apps.get_app_configs():
            if module_has_submodule(app.module, "room"):
                import_module(f"{app.name}.room").register()
