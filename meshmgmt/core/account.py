"""The id of the one account of this deployment, for logs and the audit trail.

The room that stores the account provides it; asking costs a query once per process.
"""

from collections.abc import Callable


class _Holder:
    provider: Callable[[], str] | None = None
    value: str = ""


def provide(provider: Callable[[], str]) -> None:
    """Set the function that reads the id, "" when there is no account yet."""
    _Holder.provider = provider


def forget() -> None:
    """Ask again next time: the account was created or replaced."""
    _Holder.value = ""


def known_account_id() -> str:
    """Return the account's id if it was asked for before, else "": no query."""
    return _Holder.value


def account_id() -> str:
    """Return the account's id, "" before the database is set up."""
    # "" is asked for again: the account may have come meanwhile.
    if not _Holder.value and _Holder.provider is not None:
        _Holder.value = _Holder.provider()
    return _Holder.value
