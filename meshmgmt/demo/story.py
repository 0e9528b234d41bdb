"""A history that is planned first and then played: real writes at moments in the past.

Parts plan deeds in any order. Playing runs them by time, each with the clock set to its
moment and its actor named, so the audit trail tells them as they would have happened.
"""

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from meshmgmt.accounts.models import User
from meshmgmt.core import clock, context
from meshmgmt.core.context import SYSTEM, Actor
from meshmgmt.core.ids import new_id
from meshmgmt.core.progress import bar

DAYS: Final = 7
LONGEST_WRITE: Final = dt.timedelta(seconds=5)
Deed = Callable[[], object]


@dataclass
class Story:
    """What was planned, and the users so far, by the names that the parts use."""

    random: random.Random
    now: dt.datetime
    users: dict[str, User] = field(default_factory=dict)
    _planned: list[tuple[dt.datetime, str, Deed]] = field(default_factory=list)

    @property
    def begin(self) -> dt.datetime:
        """Midnight (UTC) of the first day; the last of the days was yesterday."""
        today = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        return today - dt.timedelta(days=DAYS)

    def plan(self, day: int, minute: float, who: str, deed: Deed) -> None:
        """Plan what user `who` ("" the system) does in minute `minute` of a day."""
        moment = self.begin + dt.timedelta(days=day, minutes=minute)
        self._planned.append((moment, who, deed))

    def some_minute(self) -> float:
        """Return a random minute of a working day."""
        return self.random.uniform(7 * 60, 18 * 60)

    def play(self) -> None:
        """Do everything planned, in order of time."""
        # At one moment in the order of planning, for the sort is stable: a deed may need
        # what another one makes.
        ordered = sorted(self._planned, key=itemgetter(0))
        earliest = self.begin
        for planned, who, deed in bar("history", ordered):
            # A write takes a while: the next one may not begin before it ends.
            moment = max(planned, earliest)
            earliest = moment + LONGEST_WRITE
            with (
                clock.set_to(moment),
                # An id for each, as requests have one: the trail shows them one by one.
                context.scope(actor=self._actor(who), request_id=new_id()),
            ):
                deed()

    def _actor(self, who: str) -> Actor:
        if not who:
            return SYSTEM
        user = self.users[who]
        return Actor(id=user.pk, name=user.name, email=user.email)
