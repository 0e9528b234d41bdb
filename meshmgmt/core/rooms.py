"""What rooms say when the service starts, or when their tables were made."""

from collections.abc import Callable
from typing import Final

from django.apps import apps
from django.db.models.signals import post_migrate

from meshmgmt.core.registry import Registry

start_notices: Final = Registry[str, Callable[[], str]]()
"""What returns a text to print when a server starts, "" for none.

It stands beside the logs, so it may hold what must never be logged.
"""


def after_migration(label: str, receiver: Callable[..., None]) -> None:
    """Call `receiver` whenever the tables of an application were set up or emptied."""
    post_migrate.connect(
        receiver,
        sender=apps.get_app_config(label),
        dispatch_uid=f"{receiver.__module__}.{receiver.__name__}.{label}",
    )
