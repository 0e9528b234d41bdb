"""Django application of explanations."""

from meshmgmt.core import rooms


class ExplainConfig(rooms.Room):
    name = "meshmgmt.explain"
