"""The states of peers, as conditions: what gauges, lists and the first page count."""

import datetime as dt
from typing import Final

from django.db.models import Q

from meshmgmt.accounts.models import Account
from meshmgmt.core import clock

SOON: Final = dt.timedelta(hours=3)
"""How long before its end a login counts as about to end."""


def peer_states() -> dict[str, Q]:
    """Return the states; each peer is in exactly one."""
    waiting, expired = Q(approval_required=True), Q(login_expired=True)
    here = ~waiting & ~expired
    return {
        "approval_required": waiting,
        "login_expired": ~waiting & expired,
        "connected": here & Q(connected=True),
        "disconnected": here & Q(connected=False),
    }


def login_ends_soon() -> Q:
    """Return the condition of peers whose login ends within `SOON` and has not yet."""
    account = Account.objects.filter(peer_login_expiration_enabled=True).first()
    if account is None:
        return Q(pk=None)
    after = clock.now() - dt.timedelta(seconds=account.peer_login_expiration)
    began = Q(last_login__gt=after, last_login__lte=after + SOON)
    enrolled = Q(last_login=None, created_at__gt=after, created_at__lte=after + SOON)
    return (began | enrolled) & Q(
        user__isnull=False, login_expiration_enabled=True, login_expired=False
    )
