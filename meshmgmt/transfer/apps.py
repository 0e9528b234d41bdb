"""Django application of moving in."""

from django.apps import AppConfig


class TransferConfig(AppConfig):
    """Copies the configuration of another service into this one; above all rooms."""

    name = "meshmgmt.transfer"
    label = "transfer"
