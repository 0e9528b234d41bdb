"""Passwords tried: one at a time in each process, within limits, the wrong ones on record.

The limits count in the database, so they hold for all workers and hosts together. The
limiter of `api/limits.py` would not do: it takes a permit before anybody knows whether the
password is right, and by one key; here failures alone count, by address and by account, of
which each bends the other's limit, and the trail says how many there were.
"""

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from events.activities import Activity
from meshmgmt.accounts.audit import record_about
from meshmgmt.accounts.models import User, WrongPassword
from meshmgmt.accounts.rules import fold_email
from meshmgmt.core import clock, context
from meshmgmt.core.addresses import site
from meshmgmt.core.errors import TooManyRequests, Unavailable
from meshmgmt.core.locks import Lane
from meshmgmt.core.transactions import account_write, queued_write
from observability.metrics import instruments

log = logging.getLogger(__name__)

WINDOW: Final = dt.timedelta(minutes=10)
PER_ADDRESS: Final = 10
"""Wrong passwords within the window after which an address has to wait."""
PER_ACCOUNT: Final = 20
"""... after which an address has one try for the account, so its owner still gets in."""

PATIENCE_SECONDS: Final = 3.0

BUSY: Final = "too many people sign in at this moment: try again in a few seconds"
LANE: Final = Lane(places=1 + settings.SVC.threads // 4, patience=PATIENCE_SECONDS)
"""Who hashes a password or waits to: one at a time in each process."""
_ATTEMPTS: Final = instruments.counter("mesh.signin.attempts.total")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Who is tried from where; `past` are wrong passwords from there, newest first."""

    account: str
    address: str
    past: Sequence[WrongPassword]

    @property
    def own(self) -> list[WrongPassword]:
        """Those for the same account."""
        return [wrong for wrong in self.past if wrong.account == self.account]

    @property
    def for_account(self) -> int:
        """How many there were for the account from anywhere, as far as it matters."""
        return _recent(account=self.account)[:PER_ACCOUNT].count()

    def check(self) -> None:
        """Raise TooManyRequests beyond a limit."""
        until = None
        if len(self.past) >= PER_ADDRESS:
            until = self.past[PER_ADDRESS - 1].at
        elif self.own and self.for_account >= PER_ACCOUNT:
            until = self.own[0].at
        if until is not None:
            wait = until + WINDOW - clock.now()
            raise TooManyRequests.of("wrong passwords", wait.total_seconds())


def password_check(user: User | None, password: str, *, name: str) -> bool:
    """Tell whether this is the user's password; None stands for a `name` nobody has.

    Takes as long for nobody as for somebody. Raises TooManyRequests, and Unavailable when
    too many others are being checked.
    """
    account = _account_key(user, name)
    result = "error"  # unless it is known by the end
    try:
        # Whoever has to wait is told so without a place in the lane.
        _attempt(account).check()
        with LANE.turn(Unavailable(BUSY)):
            attempt = _attempt(account)
            attempt.check()  # others went before us
            if user is None:
                # Takes as long as checking somebody's would.
                make_password(password)
            elif user.check_password(password):
                result = "ok"
                return True
            result = "failed"
            _note(attempt, user)
            return False
    except TooManyRequests:
        result = "limited"
        raise
    except Unavailable:
        result = "busy"
        raise
    finally:
        _ATTEMPTS.labels(result=result).inc()


def forget_wrong_passwords() -> None:
    """Delete what counts no more."""
    WrongPassword.objects.filter(at__lte=clock.now() - WINDOW).delete()


def _attempt(account: str) -> _Attempt:
    address = site(context.current().source_address)
    past = _recent(address=address).order_by("-at")[:PER_ADDRESS]
    return _Attempt(account, address, list(past))


def _recent(**where: str) -> QuerySet[WrongPassword]:
    now = clock.now()
    # Hosts differ a little; what lies farther ahead is of a clock that was set back since.
    within = {"at__gt": now - WINDOW, "at__lt": now + WINDOW}
    return WrongPassword.objects.filter(**within, **where)


def _account_key(user: User | None, name: str) -> str:
    text = fold_email(name) or "" if user is None else user.pk
    return salted_hmac("wrong password", text, algorithm="sha256").hexdigest()


def _note(attempt: _Attempt, user: User | None) -> None:
    """Keep a wrong password in mind, in the log, and at turning points in the trail.

    There the first of an address for an account, and the last before either has to wait:
    a flood fills no trail. Of accounts that do not exist it tells nothing.
    """
    own = len(attempt.own) + 1
    facts = {"source": context.current().source_address, "wrong_passwords": own}
    if user is not None:
        facts["target_id"] = user.pk
    log.warning("sign-in failed: the e-mail address or password is wrong", extra=facts)
    wrong = WrongPassword(account=attempt.account, address=attempt.address)
    # Nothing for the trail: a flood must not hold the lock that others write under.
    if user is None or attempt.for_account >= PER_ACCOUNT:
        with queued_write():
            wrong.save()
        return
    with account_write():
        for_account = attempt.for_account + 1  # again: workers count before the lock
        wrong.save()
        if for_account == PER_ACCOUNT or (
            for_account < PER_ACCOUNT
            and (own == 1 or len(attempt.past) + 1 == PER_ADDRESS)
        ):
            record_about(user, Activity.USER_PASSWORD_FAIL, wrong_passwords=own)
