"""How often a token may ask, and an address without credentials that are good.

Permits are taken from the database in batches, small enough that all workers together
keep the limit to a tenth, so that most requests write nothing. Refusals ask nobody until
there may be permits again.
"""

import datetime as dt
import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, transaction
from django.dispatch import Signal
from rest_framework.request import Request
from rest_framework.views import APIView

from meshmgmt.api.models import UsedPermits
from meshmgmt.core import clock, context
from meshmgmt.core.addresses import site
from meshmgmt.core.errors import ServiceError, TooManyRequests, Unauthenticated
from meshmgmt.core.slidingwindow import Grant, Limit, grant
from meshmgmt.core.transactions import SHORT_PATIENCE, sqlite_patience

log = logging.getLogger(__name__)

SHARE: Final = 30
"""The permits that all workers of a host have in hand are this part of a limit."""
MOST_KEYS: Final = 10_000
GUESSES: Final = Limit(count=5, seconds=30)
"""How often one address may try a secret that somebody gave it (reference API 14.5)."""

request_refused: Final = Signal()
"""Sent with `caller`, what the limit counts by: "token", "user" or "address"."""


@dataclass(slots=True)
class _Hand:
    """Permits of one key that this process has taken; none: ask again at `until`."""

    permits: int
    until: float


@dataclass(slots=True)
class Limiter:
    """Keeps one limit for every key, in each of `workers` processes of a host."""

    limit: Limit
    workers: int
    _hands: dict[str, _Hand] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _owed: Counter[str] = field(default_factory=Counter)
    _alone: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """What this process permitted by itself; its part of the limit is in force then."""

    def take(self, key: str) -> float:
        """Count one request; return 0, or the seconds until one is permitted again."""
        wait = self._from_hand(key)
        if wait is not None:
            return wait
        try:
            given = self._ask(key)
        except (DatabaseError, InterfaceError) as error:
            log.info("requests are counted by this process alone: %s", error)
            return self._without_database(key)
        self._keep(key, given)
        return given.wait

    def wait(self, key: str) -> float:
        """Return the seconds for which `take` refuses without asking, 0 if it might not."""
        with self._lock:
            hand = self._hands.get(key)
            return self._left(hand) if hand and not hand.permits else 0.0

    def _without_database(self, key: str) -> float:
        """Do what `take` does; what is permitted here is counted when that is possible."""
        part = Limit(max(1, self.limit.count // self.workers), self.limit.seconds)
        with self._lock:
            # Callers can make up addresses: what is remembered of them has a bound.
            if len(self._alone) >= MOST_KEYS:
                for old in list(self._alone)[: MOST_KEYS // 2]:
                    del self._alone[old]
                    del self._owed[old]
            used = self._alone.get(key, {})
            given = grant(part, used, now=time.time(), wanted=1)
            self._alone[key] = given.used
            self._owed[key] += given.permits
        return given.wait

    def _from_hand(self, key: str) -> float | None:
        """Return what `take` does, None when the database has to be asked."""
        with self._lock:
            hand = self._hands.get(key)
            left = self._left(hand) if hand else 0.0
            if hand is None or not left:
                return None
            if not hand.permits:
                return left
            hand.permits -= 1
            if not hand.permits:
                del self._hands[key]
            return 0.0

    def _left(self, hand: _Hand) -> float:
        """Return the seconds for which a hand is good; 0 once the clock was set back."""
        left = hand.until - time.time()
        return left if 0 < left <= self.limit.longest_wait else 0.0

    def _keep(self, key: str, given: Grant) -> None:
        """Take in a batch, whose first permit is used already, or a refusal."""
        with self._lock:
            now = time.time()
            if len(self._hands) >= MOST_KEYS:
                self._forget()
            if given.wait:
                self._hands[key] = _Hand(0, now + given.wait)
            elif given.permits > 1:
                hand = self._hands.setdefault(key, _Hand(0, now))
                if not self._left(hand):  # else another thread asked, too
                    hand.permits = 0
                hand.permits += given.permits - 1
                hand.until = now + self.limit.seconds

    def _forget(self) -> None:
        old = [key for key, hand in self._hands.items() if not self._left(hand)]
        for key in old or list(self._hands)[: MOST_KEYS // 2]:
            del self._hands[key]

    def _ask(self, key: str) -> Grant:
        """Take a batch out of the database. Raises DatabaseError when it is busy."""
        with self._lock:
            # Taken along; put back below if the database does not take it.
            owed = self._owed.pop(key, 0)
        try:
            # On SQLite no request waits for others' writes: busy counts as away.
            with sqlite_patience(SHORT_PATIENCE), transaction.atomic():
                return self._granted(key, owed)
        except (DatabaseError, InterfaceError):
            with self._lock:
                self._owed.update({key: owed} if owed else {})
            raise

    def _granted(self, key: str, owed: int) -> Grant:
        # SQLite has no locks of rows: its transactions begin as writers.
        rows = UsedPermits.objects.select_for_update()
        row = rows.filter(pk=key).first()
        if row is None:
            fresh = UsedPermits(key=key, until=clock.now())
            # Another worker may make the row at the same time.
            UsedPermits.objects.bulk_create([fresh], ignore_conflicts=True)
            row = rows.get(pk=key)
        # A batch that is too large would let a host of many workers exceed the limit.
        wanted = max(1, self.limit.count // (SHARE * self.workers))
        now = clock.now()
        given = grant(
            self.limit, row.used, now=now.timestamp(), wanted=wanted, owed=owed
        )
        if given.permits or owed:
            row.used = given.used
            # By the clock of any host.
            row.until = now + dt.timedelta(seconds=self.limit.longest_wait)
            row.save(update_fields=["used", "until"])
        return given


def _limiter(limit: Limit | None) -> Limiter | None:
    return None if limit is None else Limiter(limit, settings.SVC.workers)


@dataclass(slots=True)
class Limits:
    """The limits in force; None: without limit."""

    signed_in: Limiter | None
    others: Limiter | None
    guesses: Limiter


def configured() -> Limits:
    """Return the limits that the settings name, of which nothing is used yet."""
    return Limits(
        signed_in=_limiter(settings.SVC.api_rate_limit),
        others=_limiter(settings.SVC.anonymous_rate_limit),
        guesses=Limiter(GUESSES, settings.SVC.workers),
    )


LIMITS: Final = configured()


class LimitedView(APIView):
    """A view of the API that counts who asks, once that is known."""

    def perform_authentication(self, request: Request) -> None:
        """Find out who asks. Raises Unauthenticated, TooManyRequests."""
        try:
            super().perform_authentication(request)
        # Counted like those without a token: who tries tokens out has no limit else.
        except Unauthenticated:
            _count_address()
            raise
        user: Any = request.user
        if user is not None:
            _count_user(user)
        elif not self._counted_as_user(request):
            _count_address()

    def _counted_as_user(self, request: Request) -> bool:
        """Count who shows good credentials where none are needed; tell whether one does.

        The request goes on as anybody's. What is bad, or cannot be looked at now, is no
        reason to refuse what everybody gets.
        """
        # Who they are is for the count alone: the request goes on as anybody's.
        with context.scope():
            try:
                user = self._credentials(request)
            except (ServiceError, DatabaseError, InterfaceError) as error:
                log.debug("credentials that nobody asked for: %s", error)
                return False
            if user is not None:
                _count_user(user)
            return user is not None

    def _credentials(self, request: Request) -> Any:
        """Return whose they are, None without any. Raises Unauthenticated, Forbidden."""
        kinds = self.authentication_classes
        found = (kind().authenticate(request) for kind in kinds)
        return next((user for user, _ in filter(None, found)), None)


def check_guess(what: str) -> None:
    """Count a try of the client's address at one kind of secret. Raises TooManyRequests."""
    address = site(context.current().source_address)
    if wait := LIMITS.guesses.take(f"guess {what} {address}"):
        raise TooManyRequests.of("tries", wait)


def forget_used_permits() -> int:
    """Delete counts that mean nothing any more; return how many."""
    return UsedPermits.objects.filter(until__lte=clock.now()).delete()[0]


def _count_user(user: Any) -> None:
    """Count who is signed in, by the token if there is one."""
    if token_id := context.current().token_id:
        _count(LIMITS.signed_in, "token", token_id)
    else:
        _count(LIMITS.signed_in, "user", user.pk)


def _count_address() -> None:
    _count(LIMITS.others, "address", site(context.current().source_address))


def _count(limiter: Limiter | None, caller: str, name: str) -> None:
    wait = limiter.take(f"{caller} {name}") if limiter is not None else 0.0
    if wait:
        request_refused.send(sender=None, caller=caller)
        raise TooManyRequests.of("requests", wait)
