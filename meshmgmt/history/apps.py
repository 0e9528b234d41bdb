"""Django application of what was: it looks back, and takes back."""

from meshmgmt.core import rooms


class HistoryConfig(rooms.Room):
    name = "meshmgmt.history"
