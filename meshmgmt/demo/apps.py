"""Django application of the demo room: the first run, demo data, the large mesh."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """Commands on top of all rooms; no models."""

    name = "meshmgmt.demo"
    label = "demo"
