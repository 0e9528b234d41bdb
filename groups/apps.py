"""Django application of groups."""

from meshmgmt.core import rooms


class GroupsConfig(rooms.Room):
    name = "groups"
