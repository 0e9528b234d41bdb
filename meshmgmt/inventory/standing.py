"""Whether a peer may be connected now, and until when; its states as conditions."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q

from meshmgmt.accounts.models import Account
from meshmgmt.accounts.selectors import the_account
from meshmgmt.core import clock
from meshmgmt.core.queries import batches
from meshmgmt.inventory.models import Peer

BLOCKED: Final = "the owner of this peer is blocked"
PENDING: Final = "the owner of this peer is pending approval"
# Clients look for the first words, to tell their users what to do.
EXPIRED: Final = "peer login has expired: please sign in again"
DELETED: Final = "this peer is not registered"

_OWN: Final = (
    *("user_id", "login_expired", "login_expiration_enabled"),
    *("last_login", "created_at"),
)
_OF_OWNER: Final = ("is_blocked", "pending_approval")
_COLUMNS: Final = ("pk", *_OWN, *(f"user__{name}" for name in _OF_OWNER))


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a peer may be connected, and until when; None: without end.

    `reason` is one of the sentences above, "" when it may.
    """

    reason: str = ""
    until: dt.datetime | None = None

    @property
    def allowed(self) -> bool:
        return not self.reason


def standings(peer_ids: Iterable[str]) -> dict[str, Standing]:
    """Return the standing of each peer; who does not exist may not be connected."""
    account = the_account()
    wanted = list(peer_ids)
    found = dict.fromkeys(wanted, Standing(DELETED))
    rows = Peer.objects.order_by().values(*_COLUMNS)
    for part in batches(wanted):
        for row in rows.filter(pk__in=part):
            found[row["pk"]] = _standing(account, row)
    return found


def standing_of(peer: Peer, account: Account) -> Standing:
    """Return the standing of a peer whose user is loaded."""
    row = {name: getattr(peer, name) for name in _OWN}
    row |= {f"user__{name}": getattr(peer.user, name, False) for name in _OF_OWNER}
    return _standing(account, row)


def _standing(account: Account, row: dict[str, Any]) -> Standing:
    until = _session_end(account, row)
    if row["user__is_blocked"]:
        return Standing(BLOCKED)
    if row["user__pending_approval"]:
        return Standing(PENDING)
    # The flag is set once a minute: until then the time decides.
    if row["login_expired"] or (until is not None and until <= clock.now()):
        return Standing(EXPIRED)
    return Standing(until=until)


def _session_end(account: Account, row: dict[str, Any]) -> dt.datetime | None:
    """Return when a login ends; only what somebody signed in for does."""
    if row["user_id"] is None or not row["login_expiration_enabled"]:
        return None
    if not account.peer_login_expiration_enabled:
        return None
    began: dt.datetime = row["last_login"] or row["created_at"]
    return began + dt.timedelta(seconds=account.peer_login_expiration)


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
