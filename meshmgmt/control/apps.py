"""Django application of the peer protocol."""

from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "meshmgmt.control"
    verbose_name = "Peer protocol"
