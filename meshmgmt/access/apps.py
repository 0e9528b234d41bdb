"""Django application of what refers to groups: policies, routes, keys, auto-groups."""

from meshmgmt.core import rooms


class AccessConfig(rooms.Room):
    name = "meshmgmt.access"
