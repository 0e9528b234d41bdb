"""What plans have for the other rooms: drafts of the API's writes."""

from meshmgmt.api import plans
from meshmgmt.plans.drafts import draft_of


def register() -> None:
    plans.register(draft_of)
