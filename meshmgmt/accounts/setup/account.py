"""The one account: made when the database is set up, known to all by its id."""

import ipaddress
import random
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS

from events.models import AuditEvent
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.models.account import OVERLAY_RANGE
from meshmgmt.core import context, rooms
from meshmgmt.core.context import SYSTEM, current, scope
from meshmgmt.core.queries import tables_exist
from meshmgmt.core.transactions import account_write

DRAWN_PREFIX: Final = 16
"""Clients answer reverse look-ups for whole octets of the range alone."""


def register() -> None:
    """Make the account after each migration, which includes emptying the database."""
    context.provide_account_id(stored_account_id)
    for label in ("accounts", "events"):
        # Whichever of the two is set up last finds the tables of both.
        rooms.after_migration(label, after_migration)


def stored_account_id() -> str:
    """Return the id of the account, "" when there is none yet."""
    return Account.objects.values_list("id", flat=True).first() or ""


def after_migration(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the account unless it exists or its tables are not there yet."""
    context.forget_account()
    # Sent for each database and each app: not all tables need be there yet.
    if using == DEFAULT_DB_ALIAS and tables_exist(Account, AuditEvent):
        ensure_account()


def ensure_account() -> Account:
    """Return the account, made by the system when there is none.

    A new one has a range of addresses that other deployments hardly have.
    """
    found = Account.objects.first()
    # Nearly always: no lock for that.
    if found is not None:
        return found
    with account_write():
        found = Account.objects.first()
        if found is None:
            with scope(actor=SYSTEM):
                found = Account.objects.create(
                    created_by=current().actor.id, network_range=drawn_range()
                )
    context.forget_account()
    return found


def drawn_range() -> str:
    """Return a network of the shared address space, drawn by chance."""
    parts = ipaddress.ip_network(OVERLAY_RANGE).subnets(new_prefix=DRAWN_PREFIX)
    return str(random.choice(list(parts)))  # noqa: S311 - no secret
