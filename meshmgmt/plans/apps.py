"""Django application of plans: what writes would do."""

from meshmgmt.core import rooms


class PlansConfig(rooms.Room):
    name = "meshmgmt.plans"
