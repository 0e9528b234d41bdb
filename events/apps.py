"""Django application of the event streams."""

from meshmgmt.core import rooms


class EventsConfig(rooms.Room):
    name = "events"
