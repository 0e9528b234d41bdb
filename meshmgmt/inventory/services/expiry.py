"""Logins of peers end: after a period, or when a peer was away for too long.

Both periods are settings of the account; each peer says whether they apply to it. Peers
that nobody owns have no login.
"""

import datetime as dt
from typing import Final

from django.db.models import F
from django.db.models.functions import Coalesce

from meshmgmt.accounts.models import Account
from meshmgmt.core import clock, context
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory import contributions
from meshmgmt.inventory.models import Peer

EVERY_SECONDS: Final = 60.0
# Writers wait while the lock is held, so many peers are marked in several writes.
AT_ONCE: Final = 200
TOO_OLD: Final = "the login of the peer expired"
AWAY: Final = "the peer was inactive for too long"


def expire_logins() -> int:
    """Mark the peers whose login ends; return how many."""
    account = Account.objects.first()
    if account is None:
        return 0
    ended = 0
    if account.peer_login_expiration_enabled:
        before = clock.now() - dt.timedelta(seconds=account.peer_login_expiration)
        ended += _expire("last_login", before, TOO_OLD, login_expiration_enabled=True)
    if account.peer_inactivity_expiration_enabled:
        before = clock.now() - dt.timedelta(seconds=account.peer_inactivity_expiration)
        since = contributions.reachable_since.only()
        # While nobody could connect, nobody is to blame for having been away.
        if since is None or since <= before:
            away = {"inactivity_expiration_enabled": True, "connected": False}
            ended += _expire("last_seen", before, AWAY, **away)
    return ended


def _expire(moment: str, before: dt.datetime, reason: str, **chosen: bool) -> int:
    """Mark the chosen peers whose `moment`, else their enrolment, lies that far back."""
    peers = Peer.objects.annotate(began=Coalesce(F(moment), F("created_at"))).filter(
        began__lte=before, user__isnull=False, login_expired=False, **chosen
    )
    ended = 0
    while peers.exists():  # most of the time not: no need for the write lock
        with account_write(), context.scope(reason=reason):
            found = list(peers.order_by("pk")[:AT_ONCE])
            for peer in found:
                peer.login_expired = True
                peer.save(update_fields=["login_expired"])
            ended += len(found)
    return ended
