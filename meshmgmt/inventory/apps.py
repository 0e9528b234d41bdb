"""Django application of what groups hold: peers, networks, resources."""

from meshmgmt.core import rooms


class InventoryConfig(rooms.Room):
    name = "meshmgmt.inventory"
