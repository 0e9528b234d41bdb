"""What plans have for the other rooms: drafts of writes, the account as it was."""

from meshmgmt.api import plans
from meshmgmt.core import history
from meshmgmt.planning.drafts import draft_of
from meshmgmt.planning.history import account_at


def register() -> None:
    plans.register(draft_of)
    history.register(account_at)
