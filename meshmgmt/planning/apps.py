"""Django application of plans, and of the account as it was."""

from meshmgmt.core import rooms


class PlanningConfig(rooms.Room):
    name = "meshmgmt.planning"
