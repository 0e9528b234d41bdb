"""What history has for the other rooms: the account as it was, for `?at=`."""

from meshmgmt.core import history
from meshmgmt.history.past import account_at


def register() -> None:
    history.accounts_at.add("history", account_at)
