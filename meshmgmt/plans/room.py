"""What plans have for the other rooms: what plans writes of the API."""

from meshmgmt.api import plans
from meshmgmt.plans.planner import planner_of


def register() -> None:
    plans.planners.add("plans", planner_of)
