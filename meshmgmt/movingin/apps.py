"""Django application of moving in."""

from django.apps import AppConfig


class MovingInConfig(AppConfig):
    """Copies the configuration of another service into this one; above all rooms."""

    name = "meshmgmt.movingin"
    label = "movingin"
