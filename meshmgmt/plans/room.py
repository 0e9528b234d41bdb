"""What plans have for the other rooms: drafts of the API's writes."""

from meshmgmt.api import plans
from meshmgmt.plans.planner import planner_of


def register() -> None:
    plans.register(planner_of)
