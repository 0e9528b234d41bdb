"""Django application of the HTTP API's common parts."""

from meshmgmt.core import rooms


class ApiConfig(rooms.Room):
    name = "meshmgmt.api"
    verbose_name = "API"
