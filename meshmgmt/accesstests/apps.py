"""Django application of access tests: promises about who reaches what."""

from meshmgmt.core import rooms


class AccessTestsConfig(rooms.Room):
    name = "meshmgmt.accesstests"
    verbose_name = "Access tests"
