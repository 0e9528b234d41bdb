"""How a room joins the others when the service starts: by its `room.py`, and only so."""

from collections.abc import Callable
from importlib import import_module
from typing import Final

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate

from meshmgmt.core.registry import Registry

start_notices: Final = Registry[str, Callable[[], str]]()
"""What returns a text to print when a server starts, "" for none.

It stands beside the logs, so it may hold what must never be logged.
"""


class Room(AppConfig):
    """An application whose `room.py` declares in `register()` all it has for others."""

    def ready(self) -> None:
        # Imported no sooner: what it names needs the models of all rooms.
        import_module(f"{self.name}.room").register()


def after_migration(label: str, receiver: Callable[..., None]) -> None:
    """Call `receiver` whenever the tables of an application were set up or emptied."""
    post_migrate.connect(
        receiver,
        sender=apps.get_app_config(label),
        dispatch_uid=f"{receiver.__module__}.{receiver.__name__}.{label}",
    )
