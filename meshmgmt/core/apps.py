"""Django application of the rooms' common ground."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "meshmgmt.core"
    label = "core"
