"""Django application of metrics, logs and health."""

from meshmgmt.core import rooms


class ObservabilityConfig(rooms.Room):
    name = "observability"
