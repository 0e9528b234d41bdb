"""Django application of the peer protocol."""

from meshmgmt.core import rooms


class ControlConfig(rooms.Room):
    name = "meshmgmt.control"
    verbose_name = "Peer protocol"
