"""Django application of the rooms' common ground."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """Ids, errors, request context and transactions; no models."""

    name = "meshmgmt.core"
    label = "core"
